package retrytopics

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

// housekeep works until the context ends: it reads the start and end offsets of the partitions, for gaps and the lag,
// purges finished records from the retry topics, and looks for retry topics that another instance created. A failure
// harms no record; it is logged, and the work is tried again.
func (s *session) housekeep(ctx context.Context) {
	purged := time.Now()
	var paced kafka.Claims
	for sleep(ctx, s.in.intervals.look) {
		s.claim(ctx, &paced)
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.in.cfg.Logger.WarnContext(ctx, "cannot read start and end offsets; the lag shown is old", "error", err)
		}
		if err := s.sameTopics(ctx); err != nil && ctx.Err() == nil {
			s.in.cfg.Logger.WarnContext(ctx, "cannot read the ids of the topics", "error", err)
		}
		if time.Since(purged) < s.in.intervals.purge {
			continue
		}
		purged = time.Now()
		s.unassigned(ctx)
		if err := s.purge(ctx); err != nil && ctx.Err() == nil {
			s.in.cfg.Logger.WarnContext(ctx, "cannot purge the tiers", "error", err)
		}
		changed, err := s.in.rediscover(ctx, s.adm)
		if changed != nil {
			s.end(changed)
		}
		if err != nil && ctx.Err() == nil {
			s.in.cfg.Logger.WarnContext(ctx, "cannot look for former tiers", "error", err)
		}
	}
}

// sameTopics ends the session if one of its topics was re-created, or partitions were added to the source. The next
// session compares the memory with the topics as they are then.
func (s *session) sameTopics(ctx context.Context) error {
	changed, err := s.layout.Compare(ctx, s.adm, s.in.cfg.Source)
	if changed != nil {
		s.end(changed)
	}
	return err
}

// look reads the partitions' start offsets and last stable offsets.
func (s *session) look(ctx context.Context) error {
	ends, err := s.adm.ListCommittedOffsets(ctx, s.in.consumed()...)
	if err != nil {
		return err
	}
	starts, err := s.adm.ListStartOffsets(ctx, s.in.consumed()...)
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
			faults = append(faults, s.in.denial("Delete", "topic "+d.Topic, d.Err))
		}
	})
	return errors.Join(faults...)
}
