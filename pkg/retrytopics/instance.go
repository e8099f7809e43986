package retrytopics

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
)

// instance is one member of the consumer group over all of its sessions: its configuration, what the sessions share, and
// what they found out about the topics. It is safe for concurrent use.
type instance struct {
	cfg       Config
	access    kafka.Access
	cluster   topics.Cluster
	attempts  *attempts
	results   *results
	intervals intervals
	health    commitHealth
	lost      lost
	pulse     kafka.Pulse
	forgotten memory.Forgotten                // versions
	former    atomic.Pointer[[]topics.Former] // tiers, as the latest session found them
	last      atomic.Pointer[Stats]           // of the last session
	member    atomic.Pointer[string]          // member ID of the latest session
	skewed    atomic.Int64                    // accepted records whose timestamp lay in the future
}

// newInstance returns the instance of a configuration with its defaults.
func newInstance(cfg Config) *instance {
	in := &instance{cfg: cfg, intervals: productionIntervals(), health: commitHealth{first: firstWait}, results: newResults(cfg.Limits.HeldBytes / 4)}
	in.access = kafka.Access{Brokers: cfg.Brokers, Options: cfg.Client.Options, Denial: in.denial, DenialAmong: in.denialAmong}
	in.cluster = topics.Cluster{Set: topicSet(&cfg), Access: &in.access, Group: cfg.Group, Pipeline: cfg.Origin.Pipeline, Log: cfg.Logger}
	in.attempts = newAttempts(&in.cfg, kafka.NewLimits(kafka.Told{}, in.cluster.Records()))
	return in
}

// restartMin is the shortest wait between two sessions.
const restartMin = time.Second

// rebalanceTimeout is how long a member may take to rejoin. Meanwhile it restores the memory of its partitions, which takes
// as long as reading the ledger.
const rebalanceTimeout = 5 * time.Minute

// intervals are the periods of an engine's background work and of its group. Tests shorten them.
type intervals struct {
	look    time.Duration // between two reads of the partitions' start and end offsets
	purge   time.Duration // between two purges of the retry topics, and between two searches for former ones
	restart time.Duration // before the second session; it doubles up to restartMax
	rejoin  time.Duration // how long the group waits for a member in a rebalance
}

// productionIntervals returns the periods outside of tests.
func productionIntervals() intervals {
	return intervals{look: 2 * time.Second, purge: 30 * time.Second, restart: restartMin, rejoin: rebalanceTimeout}
}

// tierOf returns the index of a topic in tiers, or sourceTier; ok is false for any other topic.
func (in *instance) tierOf(topic string) (tier int, ok bool) {
	if topic == in.cfg.Source {
		return sourceTier, true
	}
	for i, t := range in.tiers() {
		if t.Topic == topic {
			return i, true
		}
	}
	return 0, false
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// topicSet returns the names of the pipeline's topics.
func topicSet(c *Config) topics.Set {
	return topics.Set{
		Source: c.Source, Tiers: c.Retries.Tiers, TierPrefix: c.Retries.TierPrefix, DLQ: c.DLQ, Outputs: c.Outputs, Journal: c.Journal.KeepPartition,
		State: c.Ordering.StateTopic, Ordered: c.Ordering.Mode != OrderNone, Ledger: c.Dedupe.LedgerTopic, Window: c.Dedupe.Window, Heads: c.Journal.HashChain.HeadTopic,
	}
}
