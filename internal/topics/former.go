package topics

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Backlog is what a pipeline's group has not read of its source or of a retry topic, by partition.
type Backlog struct {
	Topic      string
	Former     bool // named like a retry topic, and not configured: the consumer drains it
	Partitions []kafka.PartitionLag
}

// Consumed reports whether the group has committed anywhere in the topic. Without a commit, a former retry topic is taken
// for another pipeline's.
func (b Backlog) Consumed() bool {
	return slices.ContainsFunc(b.Partitions, func(p kafka.PartitionLag) bool { return p.Committed >= 0 })
}

// Lag returns the sum of all partitions: an upper bound of the unfinished records, because transaction markers count too.
func (b Backlog) Lag() (n int64) {
	for _, p := range b.Partitions {
		n += p.Lag
	}
	return n
}

// FormerText returns one line about a former retry topic: how much waits, or under which conditions the topic can be
// deleted. It has no command that deletes the topic, because a group also commits when it passes over another pipeline's
// records, and that pipeline may still use the tier.
func (b Backlog) FormerText() string {
	waiting := b.Lag()
	switch {
	case !b.Consumed() && waiting == 0:
		return fmt.Sprintf("%s (former tier): empty, and the group has consumed nothing of it; another pipeline may share the tier prefix (topics.tier_prefix), so do not delete it unless it is yours", b.Topic)
	case !b.Consumed():
		return fmt.Sprintf("%s (former tier): %d records wait, at most, and the group has consumed nothing of it; a running consumer finishes its own when they are due, and leaves those of another pipeline alone", b.Topic, waiting)
	case waiting == 0:
		return fmt.Sprintf("%s (former tier): empty; it can be deleted once no instance has it in its tier list, if no other pipeline uses it (topics.tier_prefix)", b.Topic)
	}
	return fmt.Sprintf("%s (former tier): %d records wait, at most; a running consumer finishes them when they are due", b.Topic, waiting)
}

// FindFormer returns the former tiers of a pipeline that the client may describe, by delay. It leaves out a topic that is
// deleted meanwhile.
func FindFormer(ctx context.Context, admin *kadm.Client, c *config.Config) (former []Backlog, err error) {
	names, err := formerTiers(ctx, admin, c)
	for _, name := range names {
		lags, err := kafka.Lag(ctx, admin, c.Source.Group, kafka.Stable, name)
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("what waits in a former tier: %w", err)
		}
		former = append(former, Backlog{name, true, lags[name]})
	}
	return former, err
}

// formerTiers returns the names of the former tiers.
func formerTiers(ctx context.Context, admin *kadm.Client, c *config.Config) ([]string, error) {
	details, err := admin.ListTopics(kadm.WithAuthorizedOps(ctx)) // bypasses the client's cache
	if err != nil {
		return nil, fmt.Errorf("ask the broker for the topics: %w", err)
	}
	known := []string{c.Topics.Governance}
	for _, t := range Plan(c) {
		known = append(known, t.Name)
	}
	return retrytopics.FormerTiers(c.Topics.TierPrefix, known, details), nil
}

// PlanOn returns the plan of a pipeline, including the cluster's former tiers with waiting records, which must not
// expire either. A group that writes to a tier commits there, so a topic without a commit belongs to another owner.
func PlanOn(ctx context.Context, admin *kadm.Client, c *config.Config) ([]Topic, error) {
	plan := Plan(c)
	former, err := FindFormer(ctx, admin, c)
	for _, f := range former {
		if f.Consumed() && f.Lag() > 0 {
			plan = append(plan, Topic{Name: f.Topic, Role: RoleTier, Partitions: int32(len(f.Partitions)), Cleanup: CleanupDelete, Retention: Forever})
		}
	}
	return plan, err
}

// Backlogs returns the source first, then the tiers from the shortest, then the former tiers. It reads offsets only;
// internal/verify reads the records.
func Backlogs(ctx context.Context, admin *kadm.Client, cfg *config.Config, until kafka.Ends) ([]Backlog, error) {
	former, err := formerTiers(ctx, admin, cfg)
	if err != nil {
		return nil, err
	}
	names := slices.Concat([]string{cfg.Source.Topic}, cfg.TierTopics(), former)
	lags, err := kafka.Lag(ctx, admin, cfg.Source.Group, until, names...)
	if err != nil {
		return nil, err
	}
	all := make([]Backlog, len(names))
	for i, name := range names {
		all[i] = Backlog{Topic: name, Former: i >= len(names)-len(former), Partitions: lags[name]}
	}
	return all, nil
}
