package session

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
)

// Stats returns a snapshot.
func (s *Session) Stats(now time.Time) retrytopics.Stats {
	stats := s.known(now)
	_, generation := s.Committer.Client().GroupMetadata()
	stats.Joined = generation > 0
	stats.Silence = s.in.Pulse.Silence(now)
	stats.Uncommitted = s.uncommitted(now)
	return stats
}

// uncommitted returns how long the oldest finished record has waited for its commit.
func (s *Session) uncommitted(now time.Time) time.Duration {
	s.mu.Lock()
	since := s.abortedAt
	s.mu.Unlock()
	if ready := s.Sched.ReadySince(); since.IsZero() || !ready.IsZero() && ready.Before(since) {
		since = ready
	}
	if since.IsZero() {
		return 0
	}
	return now.Sub(since)
}

// known returns the statistics that need no answer from the client.
func (s *Session) known(now time.Time) retrytopics.Stats {
	stats := s.in.EmptyStats()
	s.addPartitions(&stats, now)
	s.addDue(&stats, now)
	for _, stuck := range s.callers.Stuck(time.Now()) {
		stats.Stuck = append(stats.Stuck, retrytopics.StuckStats(stuck))
	}
	stats.ClockSkew = s.in.Skewed.Load()
	return stats
}

func (s *Session) addPartitions(stats *retrytopics.Stats, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addVersions(&stats.Versions)
	for _, l := range s.partitions {
		waiting := l.Unfinished()
		if l.Tier != schedule.Source {
			stats.Tiers[l.Tier].Waiting += waiting
			continue
		}
		stats.Partitions++
		stats.Lag += waiting
		if oldest := l.Oldest(); waiting > 0 && !oldest.IsZero() {
			stats.LagTime = max(stats.LagTime, now.Sub(oldest))
		}
	}
}

// addVersions counts the versions that the partitions remember. The session's mutex is held.
func (s *Session) addVersions(stats *retrytopics.VersionStats) {
	for _, state := range s.states {
		if !state.Restored {
			continue
		}
		size := state.Memory.Size()
		if s.in.Cfg.Ordering.RemembersVersions() {
			stats.Keys += int64(size.Versions)
			stats.Bytes += int64(size.VersionBytes)
		} else {
			stats.Keys += int64(size.Removable)
		}
	}
}

func (s *Session) addDue(stats *retrytopics.Stats, now time.Time) {
	waits := s.Sched.Stats(len(stats.Tiers))
	for _, h := range waits.Deferred {
		stats.Deferred = append(stats.Deferred, retrytopics.DeferredStats(h))
	}
	for i, tier := range waits.Tiers {
		stats.Tiers[i].NextDue = tier.Next
		if !tier.Runnable.IsZero() {
			stats.Tiers[i].Overdue = max(0, now.Sub(tier.Runnable))
		}
	}
}
