package session

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
)

// housekeep works until the context ends: it reads the start and end offsets of the partitions, to detect gaps and to
// measure the lag, purges finished records from the retry topics, and looks for retry topics that another instance
// created. A failure harms no record; it is logged, and the work is tried again.
func (s *Session) housekeep(ctx context.Context) {
	purged := time.Now()
	var paced kafka.Claims
	for instance.Sleep(ctx, s.in.Intervals.Look) {
		s.claim(ctx, &paced)
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.in.Cfg.Logger.WarnContext(ctx, "cannot read start and end offsets; the lag shown is old", "error", err)
		}
		if err := s.sameTopics(ctx); err != nil && ctx.Err() == nil {
			s.in.Cfg.Logger.WarnContext(ctx, "cannot read the ids of the topics", "error", err)
		}
		if time.Since(purged) < s.in.Intervals.Purge {
			continue
		}
		purged = time.Now()
		s.unassigned(ctx)
		if err := s.purge(ctx); err != nil && ctx.Err() == nil {
			s.in.Cfg.Logger.WarnContext(ctx, "cannot purge the tiers", "error", err)
		}
		changed, err := s.in.Rediscover(ctx, s.adm)
		if changed != nil {
			s.End(changed)
		}
		if err != nil && ctx.Err() == nil {
			s.in.Cfg.Logger.WarnContext(ctx, "cannot look for former tiers", "error", err)
		}
	}
}

// sameTopics ends the session if one of its topics was re-created, or partitions were added to the source. The next
// session compares the memory with the topics as they are then.
func (s *Session) sameTopics(ctx context.Context) error {
	changed, err := s.layout.Compare(ctx, s.adm, s.in.Cfg.Source)
	if changed != nil {
		s.End(changed)
	}
	return err
}

// look reads the partitions' start offsets and last stable offsets.
func (s *Session) look(ctx context.Context) error {
	ends, err := s.adm.ListCommittedOffsets(ctx, s.in.Consumed()...)
	if err != nil {
		return err
	}
	starts, err := s.adm.ListStartOffsets(ctx, s.in.Consumed()...)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for tp, l := range s.partitions {
		if o, ok := starts.Lookup(tp.Topic, tp.Partition); ok && o.Err == nil {
			l.Starts(o.Offset)
		}
		if o, ok := ends.Lookup(tp.Topic, tp.Partition); ok && o.Err == nil {
			l.End = max(l.End, o.Offset)
		}
	}
	return nil
}

// purge deletes the records before the committed position from the retry topics. Retry topics have no retention by
// time: a stopped consumer must not lose waiting records. A topic that another pipeline writes to is not purged: its
// records may still wait.
func (s *Session) purge(ctx context.Context) error {
	before := kadm.Offsets{}
	s.mu.Lock()
	for tp, l := range s.partitions {
		if l.Tier != schedule.Source && l.State.Restored && !l.Shared && l.Committed.Offset > 0 { // restored: shared is known
			before.AddOffset(tp.Topic, tp.Partition, l.Committed.Offset, -1)
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
			faults = append(faults, s.in.Denial("Delete", "topic "+d.Topic, d.Err))
		}
	})
	return errors.Join(faults...)
}
