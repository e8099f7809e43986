package retrytopics

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// restoreState applies a record of the state topic: the state of a key, the version of a key, or the checkpoint. The
// last of each counts.
func (sh *partitionState) restoreState(r *kgo.Record, scale statetopic.Scale) error {
	if k, ok := statetopic.HashOf(r.Key); ok {
		return sh.restoreVersion(k, r.Value, scale)
	}
	key, ok := statetopic.KeyOf(r.Key)
	switch {
	case !ok:
		return sh.restoreCheckpoint(r.Value)
	case r.Value == nil:
		delete(sh.base, key)
		return nil
	}
	st, err := statetopic.DecodeOrder(r.Value, scale)
	if err != nil {
		return err
	}
	sh.base[key] = st
	return nil
}

// restoreVersion applies the version of a key if versions are kept. If they are no longer kept, the version will be
// removed.
func (sh *partitionState) restoreVersion(k idempotency.KeyHash, value []byte, scale statetopic.Scale) error {
	delete(sh.pushed.early, k)
	if sh.latest == nil {
		sh.pushed.addEarly(k, sh.drops && value != nil)
		return nil
	}
	if value == nil {
		sh.latest.table.Forget(k)
		return nil
	}
	n, err := statetopic.DecodeVersion(value, scale)
	if err != nil {
		return err
	}
	sh.pushed.addEarly(sh.latest.note(k, n))
	return nil
}

// restoreLedgers reads what took effect within the window, after the checkpoints are read.
func (s *session) restoreLedgers(ctx context.Context, states map[int32]*partitionState, now time.Time) error {
	d := s.e.cfg.Dedupe
	if !d.on() {
		return nil
	}
	if err := s.rescale(ctx, states); err != nil {
		return err
	}
	return s.replay(ctx, d.LedgerTopic, now.Add(-d.Window), states, func(sh *partitionState, r *kgo.Record) error {
		return sh.restoreLedger(r, now)
	})
}

// restoreLedger applies a record of the ledger. Versions of another scale count by their offsets alone.
func (sh *partitionState) restoreLedger(r *kgo.Record, now time.Time) error {
	if sh.checkpoint == nil || r.Offset >= sh.checkpoint.ScaleFrom {
		return sh.ledger.Restore(r.Value, now)
	}
	changes, err := idempotency.ReadChanges(r.Value)
	if err != nil {
		return err
	}
	for i := range changes {
		changes[i].Applied.Version = math.MinInt64
	}
	return sh.ledger.Restore(idempotency.AppendChanges(nil, changes), now)
}

// rescale handles partitions whose ledger has versions of another scale: it stores the current end of the ledger in
// their checkpoints, before which that scale applies.
func (s *session) rescale(ctx context.Context, states map[int32]*partitionState) error {
	scale, topic := s.e.cfg.scale(), s.e.cfg.Dedupe.LedgerTopic
	var ends kadm.ListedOffsets
	for p, sh := range states {
		if sh.checkpoint == nil || !sh.checkpoint.Scale.Differs(scale) {
			continue
		}
		if ends == nil {
			var err error
			if ends, err = s.adm.ListEndOffsets(ctx, topic); err != nil {
				return fmt.Errorf("end of %s: %w", topic, err)
			}
			s.e.cfg.Logger.WarnContext(ctx, "versions are read from another place than before; what took effect before counts by its source offset",
				"versions", s.e.cfg.Ordering.Versions.Of, "scale_before", string(sh.checkpoint.Scale), "scale", string(scale))
		}
		end, ok := ends.Lookup(topic, p)
		if !ok {
			return fmt.Errorf("the brokers do not know partition %d of %s", p, topic)
		}
		if end.Err != nil {
			return fmt.Errorf("end of partition %d of %s cannot be read: %w", p, topic, s.e.denial("Describe", "topic "+topic, end.Err))
		}
		sh.checkpoint.Scale, sh.checkpoint.ScaleFrom = scale, end.Offset
	}
	return nil
}
