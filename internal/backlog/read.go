package backlog

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/topics"
)

// Partition is how far the group has read one partition.
type Partition struct {
	Partition int32
	Committed int64 // -1: the group has committed nothing
	End       int64
	Lag       int64 // from the committed offset, or the start of the partition, to the end
}

// Topic is the source or a retry topic, with its partitions in order.
type Topic struct {
	Name       string
	Former     bool // a retry topic of a former tier list, which is drained
	Partitions []Partition
}

// Lag is that of all partitions.
func (t Topic) Lag() (n int64) {
	for _, p := range t.Partitions {
		n += p.Lag
	}
	return n
}

// Ends says what the end of a partition is.
type Ends int

// Stable is the end for a reader of committed records. Written is behind all that was written: also behind transactions that are
// still open, and behind what was committed after they began.
const (
	Stable Ends = iota
	Written
)

// Read gives the source first, then the tiers from the shortest, then former ones. What the commits led to is part of the ends: they
// are read after the commits.
func Read(ctx context.Context, admin *kadm.Client, cfg *config.Config, until Ends) ([]Topic, error) {
	all, names, err := list(ctx, admin, cfg)
	if err != nil {
		return nil, err
	}
	committed, err := admin.FetchOffsets(ctx, cfg.Source.Group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) && !errors.Is(err, kerr.CoordinatorNotAvailable) { // no group has committed here yet
		return nil, fmt.Errorf("committed offsets of group %s: %w", cfg.Source.Group, kafka.DeniedGroup("Describe", cfg.Source.Group, err))
	}
	starts, err := offsets(ctx, "start", admin.ListStartOffsets, names)
	if err != nil {
		return nil, err
	}
	lister := admin.ListCommittedOffsets
	if until == Written {
		lister = admin.ListEndOffsets
	}
	ends, err := offsets(ctx, "end", lister, names)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, name := range names {
		at[name] = i
	}
	for _, end := range ends.Offsets().Sorted() {
		p := Partition{Partition: end.Partition, Committed: -1, End: end.At}
		start, _ := starts.Lookup(end.Topic, end.Partition)
		from := start.Offset
		if c, ok := committed.Lookup(end.Topic, end.Partition); ok && c.At >= 0 {
			p.Committed, from = c.At, max(from, c.At)
		}
		p.Lag = max(0, p.End-from)
		topic := &all[at[end.Topic]]
		topic.Partitions = append(topic.Partitions, p)
	}
	return all, nil
}

// list gives the topics, and their names in the same order.
func list(ctx context.Context, admin *kadm.Client, cfg *config.Config) (all []Topic, names []string, err error) {
	former, err := topics.FindFormer(ctx, admin, cfg)
	if err != nil {
		return nil, nil, err
	}
	all = append(all, Topic{Name: cfg.Source.Topic})
	for _, name := range cfg.TierTopics() {
		all = append(all, Topic{Name: name})
	}
	for _, f := range former {
		all = append(all, Topic{Name: f.Topic, Former: true})
	}
	for _, t := range all {
		names = append(names, t.Name)
	}
	return all, names, nil
}

// offsets asks for one kind of offset of the topics.
func offsets(ctx context.Context, what string, ask func(context.Context, ...string) (kadm.ListedOffsets, error), names []string) (kadm.ListedOffsets, error) {
	listed, err := ask(ctx, names...)
	if err == nil {
		err = refused(listed)
	}
	if err != nil {
		return nil, fmt.Errorf("%s of the topics: %w", what, kafka.DeniedTopics("Describe", names, err, func(name string) error {
			_, err := ask(ctx, name)
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
		if err = kafka.DeniedTopic("Describe", o.Topic, o.Err); errors.Is(err, kerr.UnknownTopicOrPartition) {
			err = fmt.Errorf("%s: %w; `consumer topics ensure` creates it", o.Topic, err)
		}
	})
	return err
}
