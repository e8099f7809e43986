package retrytopics

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Stats is a snapshot of what this instance owns.
type Stats struct {
	Joined      bool             // the instance is a member of its group
	Silence     time.Duration    // since the last answer of the group's coordinator
	Uncommitted time.Duration    // how long the oldest finished record has waited for its commit
	Partitions  int              // of the source topic
	Lag         int64            // unfinished records of the source
	LagTime     time.Duration    // age of the oldest of them; 0 if there is none
	Tiers       []TierStats      // in the order of the configuration, then the former ones
	Held        []HoldStats      // dependencies that are down, by name
	Stuck       []StuckStats     // handlers that run on after their time
	Blocked     Blocked          // why nothing is committed; zero if commits work
	Lost        map[string]int64 // upper bound of the records that were deleted before they were consumed, by topic; see Loss
	ClockSkew   int64            // accepted records whose timestamp lay more than a second in the future
	Doubts      map[Doubt]int64  // accepted records whose replay headers were not believed
	Versions    VersionStats     // newest versions of keys
	Paused      string           // why the engine is paused, see Engine.Hold; empty if it is not
}

// HoldStats is what waits for a dependency that is down. See UnavailableError.
type HoldStats struct {
	Dependency string
	Records    int64     // in memory
	RetryAt    time.Time // when one of them probes
}

// TierStats is what waits in one tier's partitions of this instance.
type TierStats struct {
	policy.Tier
	Former  bool          // not configured; see Retries.TierPrefix
	Waiting int64         // unfinished records
	NextDue time.Time     // of the earliest record in memory; zero if there is none
	Overdue time.Duration // how long the earliest due record has been due; 0 if none is
}

// StuckStats is a handler that runs on after its time.
type StuckStats struct {
	Source header.Position // of the record, where it first appeared
	For    time.Duration   // since the attempt began
}

// VersionStats is what this instance remembers of the newest versions of keys, see Versions.
type VersionStats struct {
	Keys      int64 // with KeepWindow, those still to be removed
	Bytes     int64 // in memory
	Forgotten int64 // keys without room since the engine was made
}

// Stats returns a snapshot. Between sessions and after the last one, it is the state of the last session at its end, or
// before the group expelled it.
func (e *Engine) Stats() Stats {
	if s := e.current.Load(); s != nil {
		return s.stats(e.attempts.now())
	}
	stats := e.emptyStats()
	if last := e.last.Load(); last != nil {
		stats = *last
		stats.Lost = e.losses()
		stats.Versions.Forgotten = e.forgotten.Total()
		stats.Joined = false
	}
	stats.Paused, stats.Doubts = e.Paused(), e.attempts.doubts.snapshot()
	stats.Blocked, _ = e.Blocked()
	return stats
}

func (e *Engine) emptyStats() Stats {
	stats := Stats{Paused: e.Paused(), Lost: e.losses(), Doubts: e.attempts.doubts.snapshot(), Versions: VersionStats{Forgotten: e.forgotten.Total()}}
	stats.Blocked, _ = e.Blocked()
	for i, t := range e.tiers() {
		stats.Tiers = append(stats.Tiers, TierStats{Tier: t, Former: i >= len(e.cfg.Retries.Tiers)})
	}
	return stats
}

func (s *session) stats(now time.Time) Stats {
	stats := s.known(now)
	_, generation := s.committer.Client().GroupMetadata()
	stats.Joined = generation > 0
	stats.Silence = s.e.pulse.Silence(now)
	stats.Uncommitted = s.uncommitted(now)
	return stats
}

// uncommitted returns how long the oldest finished record has waited for its commit.
func (s *session) uncommitted(now time.Time) time.Duration {
	s.mu.Lock()
	since := s.abortedAt
	s.mu.Unlock()
	if ready := s.sched.ReadySince(); since.IsZero() || !ready.IsZero() && ready.Before(since) {
		since = ready
	}
	if since.IsZero() {
		return 0
	}
	return now.Sub(since)
}

// known returns the statistics that need no answer of the client.
func (s *session) known(now time.Time) Stats {
	stats := s.e.emptyStats()
	s.addPartitions(&stats, now)
	s.addDue(&stats, now)
	for _, stuck := range s.callers.Stuck(time.Now()) {
		stats.Stuck = append(stats.Stuck, StuckStats(stuck))
	}
	stats.ClockSkew = s.e.skewed.Load()
	return stats
}

func (s *session) addPartitions(stats *Stats, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addVersions(&stats.Versions)
	for _, l := range s.partitions {
		waiting := l.unfinished()
		if l.tier != sourceTier {
			stats.Tiers[l.tier].Waiting += waiting
			continue
		}
		stats.Partitions++
		stats.Lag += waiting
		if oldest := l.oldest(); waiting > 0 && !oldest.IsZero() {
			stats.LagTime = max(stats.LagTime, now.Sub(oldest))
		}
	}
}

// addVersions counts what the partitions remember. The session's mutex is held.
func (s *session) addVersions(stats *VersionStats) {
	for _, state := range s.states {
		if !state.restored {
			continue
		}
		size := state.memory.Size()
		if s.e.cfg.Ordering.RemembersVersions() {
			stats.Keys += int64(size.Versions)
			stats.Bytes += int64(size.VersionBytes)
		} else {
			stats.Keys += int64(size.Removable)
		}
	}
}

func (s *session) addDue(stats *Stats, now time.Time) {
	waits := s.sched.Stats(len(stats.Tiers))
	for _, h := range waits.Held {
		stats.Held = append(stats.Held, HoldStats(h))
	}
	for i, tier := range waits.Tiers {
		stats.Tiers[i].NextDue = tier.Next
		if !tier.Runnable.IsZero() {
			stats.Tiers[i].Overdue = max(0, now.Sub(tier.Runnable))
		}
	}
}

// unfinished counts the records of the partition that are not finished: the held ones, and those that the broker still
// has. The latter may include transaction markers if former owners wrote them; the count is exact once all of these are
// fetched.
func (l *partition) unfinished() int64 {
	return int64(l.held) + max(0, min(l.end, l.own)-max(l.nextOffset(), 0)) + int64(max(0, l.written))
}
