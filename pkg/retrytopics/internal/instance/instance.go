package instance

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/attempt"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
)

// Instance is one member of the consumer group over all of its sessions: its configuration, what the sessions share, and
// what they found out about the topics. It is safe for concurrent use.
type Instance struct {
	Cfg       retrytopics.Config
	Access    kafka.Access
	Cluster   topics.Cluster
	Attempts  *attempt.Shared
	Results   *attempt.Results
	Intervals intervals
	Health    Health
	Lost      lost
	Pulse     kafka.Pulse
	Forgotten memory.Forgotten                  // versions
	Former    atomic.Pointer[[]topics.Former]   // tiers, as the latest session found them
	Last      atomic.Pointer[retrytopics.Stats] // of the last session
	Member    atomic.Pointer[string]            // member ID of the latest session
	Skewed    atomic.Int64                      // accepted records whose timestamp lay in the future
}

// New returns the instance of a configuration with its defaults.
func New(cfg retrytopics.Config) *Instance {
	in := &Instance{Cfg: cfg, Intervals: productionIntervals(), Health: Health{First: firstWait}, Results: attempt.NewResults(cfg.Limits.HeldBytes / 4)}
	in.Access = kafka.Access{Brokers: cfg.Brokers, Options: cfg.Client.Options, Denial: in.Denial, DenialAmong: in.denialAmong}
	in.Cluster = topics.Cluster{Set: topicSet(&cfg), Access: &in.Access, Group: cfg.Group, Pipeline: cfg.Origin.Pipeline, Log: cfg.Logger}
	in.Attempts = attempt.NewShared(&in.Cfg, kafka.NewLimits(kafka.Told{}, in.Cluster.Records()))
	return in
}

// RestartMin is the shortest wait between two sessions.
const RestartMin = time.Second

// rebalanceTimeout is how long a member may take to rejoin. Meanwhile it restores the memory of its partitions, which takes
// as long as reading the ledger.
const rebalanceTimeout = 5 * time.Minute

// intervals are the periods of an engine's background work and of its group. Tests shorten them.
type intervals struct {
	Look    time.Duration // between two reads of the partitions' start and end offsets
	Purge   time.Duration // between two purges of the retry topics, and between two searches for former ones
	Restart time.Duration // before the second session; it doubles up to restartMax
	Rejoin  time.Duration // how long the group waits for a member in a rebalance
}

// productionIntervals returns the periods outside of tests.
func productionIntervals() intervals {
	return intervals{Look: 2 * time.Second, Purge: 30 * time.Second, Restart: RestartMin, Rejoin: rebalanceTimeout}
}

// TierOf returns the index of a topic in tiers, or schedule.Source; ok is false for any other topic.
func (in *Instance) TierOf(topic string) (tier int, ok bool) {
	if topic == in.Cfg.Source {
		return schedule.Source, true
	}
	for i, t := range in.tiers() {
		if t.Topic == topic {
			return i, true
		}
	}
	return 0, false
}

// Sleep waits for d and reports whether the context still runs.
func Sleep(ctx context.Context, d time.Duration) bool {
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
func topicSet(c *retrytopics.Config) topics.Set {
	return topics.Set{
		Source: c.Source, Tiers: c.Retries.Tiers, TierPrefix: c.Retries.TierPrefix, DLQ: c.DLQ, Outputs: c.Outputs, Journal: c.Journal.KeepPartition,
		State: c.Ordering.StateTopic, Ordered: c.Ordering.Mode != retrytopics.OrderNone, Ledger: c.Dedupe.LedgerTopic, Window: c.Dedupe.Window, Heads: c.Journal.HashChain.HeadTopic,
	}
}

// Partitioner returns a partitioner that keeps the records of co-partitioned topics in their partitions.
func (in *Instance) Partitioner() *kafka.Partitioner {
	keeps := append([]string{in.Cfg.DLQ, in.Cfg.Ordering.StateTopic, in.Cfg.Dedupe.LedgerTopic, in.Cfg.Journal.HashChain.HeadTopic}, in.Cfg.Journal.KeepPartition...)
	for _, t := range in.Cfg.Retries.Tiers {
		keeps = append(keeps, t.Topic)
	}
	return kafka.NewPartitioner(keeps...)
}
