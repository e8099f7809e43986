package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/permission"
	"github.com/switchback-geo/switchback/internal/topics"
)

// Gather makes the report. view is what the control topic says; metrics are the addresses, host:port, of the instances that
// are asked. An instance that does not answer is part of the report and no error.
func Gather(ctx context.Context, cfg *config.Config, admin *kadm.Client, view control.View, metrics []string) (Report, error) {
	r := Report{Pipeline: cfg.Pipeline.ID, State: orderOf(view.Pipeline), Batches: []Batch{}, Instances: []Instance{}}
	for _, id := range slices.Sorted(maps.Keys(view.Batches)) {
		r.Batches = append(r.Batches, Batch{id, orderOf(view.Batches[id])})
	}
	var err error
	if r.Members, r.Mixed, err = members(ctx, cfg, admin); err != nil {
		return Report{}, err
	}
	if err := r.offsets(ctx, cfg, admin); err != nil {
		return Report{}, err
	}
	for _, address := range metrics {
		r.Instances = append(r.Instances, ask(ctx, address, cfg.Pipeline.ID))
	}
	return r, nil
}

func (r *Report) offsets(ctx context.Context, cfg *config.Config, admin *kadm.Client) error {
	former, err := topics.FindFormer(ctx, admin, cfg)
	if err != nil {
		return err
	}
	names := append([]string{cfg.Source.Topic}, cfg.TierTopics()...)
	for _, f := range former {
		names = append(names, f.Topic)
	}
	// The commits first: what is read afterwards includes all that they led to.
	committed, err := admin.FetchOffsets(ctx, cfg.Source.Group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) && !errors.Is(err, kerr.CoordinatorNotAvailable) { // no group has committed here yet
		return fmt.Errorf("committed offsets of group %s: %w", cfg.Source.Group, permission.Group("Describe", cfg.Source.Group, err))
	}
	starts, err := admin.ListStartOffsets(ctx, names...)
	if err == nil {
		err = refused(starts)
	}
	if err != nil {
		return fmt.Errorf("start of the topics: %w", permission.Topics("Describe", names, err, func(name string) error {
			_, err := admin.ListStartOffsets(ctx, name)
			return err
		}))
	}
	ends, err := admin.ListCommittedOffsets(ctx, names...)
	if err == nil {
		err = refused(ends)
	}
	if err != nil {
		return fmt.Errorf("end of the topics: %w", err)
	}
	shards := map[string][]Shard{}
	for _, end := range ends.Offsets().Sorted() {
		s := Shard{Partition: end.Partition, Committed: -1, End: end.At}
		start, _ := starts.Lookup(end.Topic, end.Partition)
		from := start.Offset
		if c, ok := committed.Lookup(end.Topic, end.Partition); ok && c.At >= 0 {
			s.Committed, from = c.At, max(from, c.At)
		}
		s.Lag = max(0, s.End-from)
		shards[end.Topic] = append(shards[end.Topic], s)
	}
	r.Shards = shards[cfg.Source.Topic]
	r.Lag = sum(r.Shards)
	for _, topic := range cfg.TierTopics() {
		r.Tiers = append(r.Tiers, Tier{Topic: topic, Waiting: sum(shards[topic])})
	}
	for _, f := range former {
		r.Tiers = append(r.Tiers, Tier{Topic: f.Topic, Waiting: sum(shards[f.Topic]), Former: true})
	}
	return nil
}

// refused gives the first error of offsets, with the topic that was not allowed.
func refused(offsets kadm.ListedOffsets) (err error) {
	offsets.Each(func(o kadm.ListedOffset) {
		if err == nil {
			err = permission.Topic("Describe", o.Topic, o.Err)
		}
	})
	return err
}

func sum(shards []Shard) (n int64) {
	for _, s := range shards {
		n += s.Lag
	}
	return n
}
