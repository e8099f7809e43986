package retrytopics

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

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

// housekeep works until the context ends: it reads the start and end offsets of the partitions, for gaps and the lag,
// purges finished records from the retry topics, and looks for retry topics that another instance created. A failure
// harms no record; it is logged, and the work is tried again.
func (s *session) housekeep(ctx context.Context) {
	purged := time.Now()
	var paced kafka.Claims
	for sleep(ctx, s.e.intervals.look) {
		s.claim(ctx, &paced)
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.e.cfg.Logger.WarnContext(ctx, "cannot read start and end offsets; the lag shown is old", "error", err)
		}
		if err := s.sameTopics(ctx); err != nil && ctx.Err() == nil {
			s.e.cfg.Logger.WarnContext(ctx, "cannot read the ids of the topics", "error", err)
		}
		if time.Since(purged) < s.e.intervals.purge {
			continue
		}
		purged = time.Now()
		s.unassigned(ctx)
		if err := s.purge(ctx); err != nil && ctx.Err() == nil {
			s.e.cfg.Logger.WarnContext(ctx, "cannot purge the tiers", "error", err)
		}
		if _, err := s.e.rediscover(ctx, s.adm); err != nil && ctx.Err() == nil {
			s.e.cfg.Logger.WarnContext(ctx, "cannot look for former tiers", "error", err)
		}
	}
}

// sameTopics ends the session if one of its topics was re-created, or partitions were added to the source. The next
// session compares the memory with the topics as they are then.
func (s *session) sameTopics(ctx context.Context) error {
	changed, err := s.layout.Compare(ctx, s.adm, s.e.cfg.Source)
	if changed != nil {
		s.end(changed)
	}
	return err
}

// look reads the partitions' start offsets and last stable offsets.
func (s *session) look(ctx context.Context) error {
	ends, err := s.adm.ListCommittedOffsets(ctx, s.e.consumed()...)
	if err != nil {
		return err
	}
	starts, err := s.adm.ListStartOffsets(ctx, s.e.consumed()...)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for tp, l := range s.partitions {
		if o, ok := starts.Lookup(tp.topic, tp.partition); ok && o.Err == nil {
			l.starts(o.Offset)
		}
		if o, ok := ends.Lookup(tp.topic, tp.partition); ok && o.Err == nil {
			l.end = max(l.end, o.Offset)
		}
	}
	return nil
}

// purge deletes the records before the committed position from the retry topics. Retry topics have no retention by time:
// a stopped consumer must not lose what waits. A topic that another pipeline writes to is not purged: its records may
// still wait.
func (s *session) purge(ctx context.Context) error {
	before := kadm.Offsets{}
	s.mu.Lock()
	for tp, l := range s.partitions {
		if l.tier != sourceTier && l.state.restored && !l.shared && l.committed.Offset > 0 { // restored: shared is known
			before.AddOffset(tp.topic, tp.partition, l.committed.Offset, -1)
		}
	}
	s.mu.Unlock()
	if len(before) == 0 {
		return nil
	}
	deleted, err := s.adm.DeleteRecords(ctx, before)
	if err != nil {
		return err
	}
	var faults []error
	deleted.Each(func(d kadm.DeleteRecordsResponse) {
		// Out of range: another owner has purged further already.
		if d.Err != nil && !errors.Is(d.Err, kerr.OffsetOutOfRange) {
			faults = append(faults, s.e.denial("Delete", "topic "+d.Topic, d.Err))
		}
	})
	return errors.Join(faults...)
}
