package topics

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
)

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

// Backlogs returns the source first, then the tiers from the shortest, then former ones. It reads offsets only;
// internal/verify looks at the records.
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
