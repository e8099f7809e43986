package instance

import (
	"maps"
	"sync"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// LastStats returns the state of the last session at its end, or before the group expelled it.
func (in *Instance) LastStats() retrytopics.Stats {
	stats := in.EmptyStats()
	if last := in.Last.Load(); last != nil {
		stats = *last
		stats.Lost = in.losses()
		stats.Versions.Forgotten = in.Forgotten.Total()
		stats.Joined = false
	}
	stats.Paused, stats.Doubts = in.Attempts.PausedFor(), in.Attempts.Doubts.Snapshot()
	stats.Blocked, _ = in.Health.Blocked()
	return stats
}

// EmptyStats returns the statistics of an instance without partitions.
func (in *Instance) EmptyStats() retrytopics.Stats {
	stats := retrytopics.Stats{Paused: in.Attempts.PausedFor(), Lost: in.losses(), Doubts: in.Attempts.Doubts.Snapshot(), Versions: retrytopics.VersionStats{Forgotten: in.Forgotten.Total()}}
	stats.Blocked, _ = in.Health.Blocked()
	for i, t := range in.tiers() {
		stats.Tiers = append(stats.Tiers, retrytopics.TierStats{Tier: t, Former: i >= len(in.Cfg.Retries.Tiers)})
	}
	return stats
}

// lost counts the offsets that committed positions have passed over, by topic. Safe for concurrent use.
type lost struct {
	mu      sync.Mutex // guards records
	records map[string]int64
}

func (c *lost) Add(losses []retrytopics.Loss) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range losses {
		if c.records == nil {
			c.records = map[string]int64{}
		}
		c.records[l.Topic] += l.Records
	}
}

func (c *lost) counts() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.records)
}

// losses returns the losses of each consumed topic, including 0: a counter that first appears with its increase shows
// none.
func (in *Instance) losses() map[string]int64 {
	counts := in.Lost.counts()
	if counts == nil {
		counts = map[string]int64{}
	}
	for _, topic := range in.Consumed() {
		counts[topic] += 0
	}
	return counts
}
