package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// PartitionLag is how far a group has read one partition.
type PartitionLag struct {
	Partition int32
	Committed int64 // -1: the group has committed nothing
	End       int64
	Lag       int64 // from the committed offset, or the start of the partition, to the end
}

// Ends says what the end of a partition is.
type Ends int

// Stable is the end for a reader of committed records. Written is behind all that was written: also behind transactions that are
// still open, and behind what was committed after they began.
const (
	Stable Ends = iota
	Written
)

// Lag gives how far a group has read topics, by topic, in the order of partitions. What the commits led to is part of the ends: they
// are read after the commits.
func Lag(ctx context.Context, admin *kadm.Client, group string, until Ends, topics ...string) (map[string][]PartitionLag, error) {
	committed, err := admin.FetchOffsets(ctx, group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) && !errors.Is(err, kerr.CoordinatorNotAvailable) { // no group has committed here yet
		return nil, fmt.Errorf("committed offsets of group %s: %w", group, DeniedGroup("Describe", group, err))
	}
	starts, err := offsets(ctx, "start", admin.ListStartOffsets, topics)
	if err != nil {
		return nil, err
	}
	lister := admin.ListCommittedOffsets
	if until == Written {
		lister = admin.ListEndOffsets
	}
	ends, err := offsets(ctx, "end", lister, topics)
	if err != nil {
		return nil, err
	}
	all := map[string][]PartitionLag{}
	for _, end := range ends.Offsets().Sorted() {
		p := PartitionLag{Partition: end.Partition, Committed: -1, End: end.At}
		start, _ := starts.Lookup(end.Topic, end.Partition)
		from := start.Offset
		if c, ok := committed.Lookup(end.Topic, end.Partition); ok && c.At >= 0 {
			p.Committed, from = c.At, max(from, c.At)
		}
		p.Lag = max(0, p.End-from)
		all[end.Topic] = append(all[end.Topic], p)
	}
	return all, nil
}

// offsets asks for one kind of offset of topics.
func offsets(ctx context.Context, what string, ask func(context.Context, ...string) (kadm.ListedOffsets, error), topics []string) (kadm.ListedOffsets, error) {
	listed, err := ask(ctx, topics...)
	if err == nil {
		err = refused(listed)
	}
	if err != nil {
		return nil, fmt.Errorf("%s of the topics: %w", what, DeniedTopics("Describe", topics, err, func(topic string) error {
			_, err := ask(ctx, topic)
			return err
		}))
	}
	return listed, nil
}

// refused gives the first error of offsets, with its topic.
func refused(offsets kadm.ListedOffsets) (err error) {
	offsets.Each(func(o kadm.ListedOffset) {
		if err != nil || o.Err == nil {
			return
		}
		if err = DeniedTopic("Describe", o.Topic, o.Err); errors.Is(err, kerr.UnknownTopicOrPartition) {
			err = fmt.Errorf("%s: %w; `consumer topics ensure` creates it", o.Topic, err)
		}
	})
	return err
}
