package retrytopics

import (
	"maps"
	"sync"
)

// lastStats returns the state of the last session at its end, or before the group expelled it.
func (in *instance) lastStats() Stats {
	stats := in.emptyStats()
	if last := in.last.Load(); last != nil {
		stats = *last
		stats.Lost = in.losses()
		stats.Versions.Forgotten = in.forgotten.Total()
		stats.Joined = false
	}
	stats.Paused, stats.Doubts = in.attempts.pausedFor(), in.attempts.doubts.snapshot()
	stats.Blocked, _ = in.health.blocked()
	return stats
}

func (in *instance) emptyStats() Stats {
	stats := Stats{Paused: in.attempts.pausedFor(), Lost: in.losses(), Doubts: in.attempts.doubts.snapshot(), Versions: VersionStats{Forgotten: in.forgotten.Total()}}
	stats.Blocked, _ = in.health.blocked()
	for i, t := range in.tiers() {
		stats.Tiers = append(stats.Tiers, TierStats{Tier: t, Former: i >= len(in.cfg.Retries.Tiers)})
	}
	return stats
}

// lost counts the offsets that committed positions have passed over, by topic. Safe for concurrent use.
type lost struct {
	mu      sync.Mutex
	records map[string]int64
}

func (c *lost) add(losses []Loss) {
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
func (in *instance) losses() map[string]int64 {
	counts := in.lost.counts()
	if counts == nil {
		counts = map[string]int64{}
	}
	for _, topic := range in.consumed() {
		counts[topic] += 0
	}
	return counts
}
