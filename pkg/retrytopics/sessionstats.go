package retrytopics

import "time"

func (s *session) stats(now time.Time) Stats {
	stats := s.known(now)
	_, generation := s.committer.Client().GroupMetadata()
	stats.Joined = generation > 0
	stats.Silence = s.in.pulse.Silence(now)
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
	stats := s.in.emptyStats()
	s.addPartitions(&stats, now)
	s.addDue(&stats, now)
	for _, stuck := range s.callers.Stuck(time.Now()) {
		stats.Stuck = append(stats.Stuck, StuckStats(stuck))
	}
	stats.ClockSkew = s.in.skewed.Load()
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
		if s.in.cfg.Ordering.RemembersVersions() {
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
