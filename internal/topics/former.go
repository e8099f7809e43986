package topics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Former is a topic that is named like a tier of the pipeline but is not configured. The consumer drains it.
type Former struct {
	Topic      string
	Delay      time.Duration
	Partitions int32
	Waiting    int64 // upper bound of the unfinished records: transaction markers count too
	Committed  bool  // the group has a commit in it; without one it is taken for another pipeline's
}

// String returns one line: how much waits, or under which conditions the topic can be deleted. It has no command that
// deletes the topic, because a group also commits when it passes over another pipeline's records, and that pipeline may
// still use the tier.
func (f Former) String() string {
	switch {
	case !f.Committed && f.Waiting == 0:
		return fmt.Sprintf("%s (former tier): empty, and the group has consumed nothing of it; another pipeline may share the tier prefix (topics.tier_prefix), so do not delete it unless it is yours", f.Topic)
	case !f.Committed:
		return fmt.Sprintf("%s (former tier): %d records wait, at most, and the group has consumed nothing of it; a running consumer finishes its own when they are due, and leaves those of another pipeline alone", f.Topic, f.Waiting)
	case f.Waiting == 0:
		return fmt.Sprintf("%s (former tier): empty; it can be deleted once no instance has it in its tier list, if no other pipeline uses it (topics.tier_prefix)", f.Topic)
	}
	return fmt.Sprintf("%s (former tier): %d records wait, at most; a running consumer finishes them when they are due", f.Topic, f.Waiting)
}

// FindFormer returns the former tiers of a pipeline that the client may describe, by delay, with their waiting records.
func FindFormer(ctx context.Context, admin *kadm.Client, c *config.Config) ([]Former, error) {
	former, err := formerTiers(ctx, admin, c)
	if err != nil {
		return nil, err
	}
	return former, countWaiting(ctx, admin, c.Source.Group, former)
}

// formerTiers is FindFormer without the waiting records.
func formerTiers(ctx context.Context, admin *kadm.Client, c *config.Config) ([]Former, error) {
	details, err := admin.ListTopics(kadm.WithAuthorizedOps(ctx)) // bypasses the client's cache
	if err != nil {
		return nil, fmt.Errorf("ask the broker for the topics: %w", err)
	}
	var known []string
	for _, t := range Plan(c) {
		known = append(known, t.Name)
	}
	found := retrytopics.FormerTiers(c.Topics.TierPrefix, append(known, c.Topics.Governance), details)
	var former []Former
	for _, t := range found {
		former = append(former, Former{
			Topic: t.Topic, Delay: t.Delay, Partitions: int32(t.Partitions), //nolint:gosec // a count
		})
	}
	return former, nil
}

// PlanOn returns the plan of a pipeline, including the cluster's former tiers with waiting records, which must not
// expire either. A group that writes to a tier commits there, so a topic without a commit belongs to another owner.
func PlanOn(ctx context.Context, admin *kadm.Client, c *config.Config) ([]Topic, error) {
	plan := Plan(c)
	former, err := FindFormer(ctx, admin, c)
	for _, f := range former {
		if f.Committed && f.Waiting > 0 {
			plan = append(plan, Topic{Name: f.Topic, Role: RoleTier, Partitions: f.Partitions, Cleanup: CleanupDelete, Retention: Forever})
		}
	}
	return plan, err
}

// countWaiting sets the counts of waiting records. A topic that was deleted meanwhile has none.
func countWaiting(ctx context.Context, admin *kadm.Client, group string, former []Former) error {
	for i := range former {
		f := &former[i]
		lags, err := kafka.Lag(ctx, admin, group, kafka.Stable, f.Topic)
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			continue
		}
		if err != nil {
			return fmt.Errorf("what waits in a former tier: %w", err)
		}
		of := Backlog{Partitions: lags[f.Topic]}
		f.Committed, f.Waiting = of.Consumed(), of.Lag()
	}
	return nil
}

// Backlog is what a pipeline's group has not read of its source or of a retry topic, by partition.
type Backlog struct {
	Topic      string
	Former     bool // a former retry topic, which is drained
	Partitions []kafka.PartitionLag
}

// Consumed reports whether the group has committed anywhere in the topic.
func (b Backlog) Consumed() bool {
	return slices.ContainsFunc(b.Partitions, func(p kafka.PartitionLag) bool { return p.Committed >= 0 })
}

// Lag returns the sum of all partitions.
func (b Backlog) Lag() (n int64) {
	for _, p := range b.Partitions {
		n += p.Lag
	}
	return n
}

// Backlogs returns the source first, then the tiers from the shortest, then the former tiers. It reads offsets only;
// internal/verify reads the records.
func Backlogs(ctx context.Context, admin *kadm.Client, cfg *config.Config, until kafka.Ends) ([]Backlog, error) {
	former, err := formerTiers(ctx, admin, cfg)
	if err != nil {
		return nil, err
	}
	names := append([]string{cfg.Source.Topic}, cfg.TierTopics()...)
	own := len(names)
	for _, f := range former {
		names = append(names, f.Topic)
	}
	lags, err := kafka.Lag(ctx, admin, cfg.Source.Group, until, names...)
	if err != nil {
		return nil, err
	}
	all := make([]Backlog, len(names))
	for i, name := range names {
		all[i] = Backlog{Topic: name, Former: i >= own, Partitions: lags[name]}
	}
	return all, nil
}
