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
	Partition int32 `json:"partition"`
	Committed int64 `json:"committed"` // -1: the group has committed nothing
	End       int64 `json:"end"`
	Lag       int64 `json:"lag"` // from the committed offset, or the start of the partition, to the end
}

// Ends selects the end of a partition.
type Ends int

// Stable is the end for a reader of committed records. Written includes everything written: also open transactions, and
// what was committed after they began.
const (
	Stable Ends = iota
	Written
)

// Lag returns how far a group has read topics, by topic, in the order of partitions. It reads the ends after the
// commits, so the ends include the results of committed work.
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

// offsets requests one kind of offset of topics.
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

// refused returns the first error of offsets, with its topic.
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
