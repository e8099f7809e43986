package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// count reads all topics of a pipeline with read_committed, up to their present ends, and tallies
// them. No counter of the consumer is asked.
func count(ctx context.Context, cl *kgo.Client, cfg *config.Config) (*tally, error) {
	committed, err := commits(ctx, kadm.NewClient(cl), cfg.Source.Group)
	if err != nil {
		return nil, err
	}
	open := func(r *kgo.Record) bool {
		at, ok := committed.Lookup(r.Topic, r.Partition)
		return !ok || r.Offset >= at.At
	}
	t := newTally()
	steps := []struct {
		topic string
		take  func(*kgo.Record) error
	}{
		{cfg.Source.Topic, func(r *kgo.Record) error { return t.source(r, open(r)) }},
		{cfg.Output.Topic, t.delivered},
		{cfg.Topics.DLQ, t.dead},
		{cfg.Topics.Audit, t.closed},
	}
	for _, tier := range cfg.TierTopics() {
		steps = append(steps, struct {
			topic string
			take  func(*kgo.Record) error
		}{tier, func(r *kgo.Record) error {
			if !open(r) {
				return nil
			}
			return t.waiting(r)
		}})
	}
	for _, step := range steps {
		spans, err := kafka.Spans(ctx, cl, step.topic)
		if err != nil {
			return nil, err
		}
		if err := kafka.Scan(ctx, cl, step.topic, spans, step.take); err != nil {
			return nil, err
		}
	}
	t.close()
	return t, nil
}

// drained reports whether the group has committed everything that lies in the source and the tiers
// now. The commits are read before the ends: what a commit moved into a tier is then before the end.
func drained(ctx context.Context, adm *kadm.Client, cfg *config.Config) (bool, error) {
	committed, err := commits(ctx, adm, cfg.Source.Group)
	if err != nil {
		return false, err
	}
	topics := append([]string{cfg.Source.Topic}, cfg.TierTopics()...)
	ends, err := adm.ListCommittedOffsets(ctx, topics...)
	if err != nil {
		return false, fmt.Errorf("read the ends of the topics: %w", err)
	}
	starts, err := adm.ListStartOffsets(ctx, topics...)
	if err != nil {
		return false, fmt.Errorf("read the starts of the topics: %w", err)
	}
	done := true
	ends.Each(func(end kadm.ListedOffset) {
		at := starts[end.Topic][end.Partition].Offset
		if c, ok := committed.Lookup(end.Topic, end.Partition); ok {
			at = max(at, c.At)
		}
		done = done && end.Err == nil && at >= end.Offset
	})
	return done && len(ends) == len(topics), nil
}

// commits reads what a group has committed. A group that nobody has joined yet has nothing.
func commits(ctx context.Context, adm *kadm.Client, group string) (kadm.OffsetResponses, error) {
	committed, err := adm.FetchOffsets(ctx, group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, fmt.Errorf("read the offsets of group %s: %w", group, err)
	}
	return committed, nil
}

// waitDrained looks until everything is committed, or the context ends.
func waitDrained(ctx context.Context, adm *kadm.Client, cfg *config.Config) error {
	for {
		if done, err := drained(ctx, adm, cfg); done || err != nil {
			return err
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// sleep waits, or gives the cause of the context's end.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sorted gives the keys of a count, the largest count first.
func sorted(counts map[string]int64) []string {
	keys := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(keys, func(a, b string) int { return int(counts[b] - counts[a]) })
	return keys
}
