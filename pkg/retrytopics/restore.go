package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// restore reads the state of new partitions before they start: the order of their keys, and what took effect in the
// window. Rebalances wait meanwhile.
func (s *session) restore(ctx context.Context) error {
	s.mu.Lock()
	fresh := map[int32]*partitionState{}
	for p, state := range s.states {
		if !state.restored {
			fresh[p] = state
		}
	}
	s.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	began := time.Now()
	if s.layout.States {
		err := s.in.replay(ctx, s.adm, s.in.cfg.Ordering.StateTopic, time.Time{}, fresh, (*partitionState).restoreState)
		if err != nil {
			return err
		}
	}
	if err := s.in.restoreLedgers(ctx, s.adm, fresh, s.in.attempts.now()); err != nil {
		return err
	}
	if err := s.resumeFromCheckpoint(ctx, fresh); err != nil {
		return err
	}
	if t := s.in.cfg.Journal.HashChain; t.On() {
		err := s.in.replay(ctx, s.adm, t.HeadTopic, time.Time{}, fresh, func(state *partitionState, r *kgo.Record) error {
			state.head = r.Value
			return nil
		})
		if err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, state := range fresh {
		state.open()
	}
	versions := 0
	for _, state := range fresh {
		versions += state.memory.Size().Versions
	}
	s.in.cfg.Logger.InfoContext(ctx, "partitions started", "partitions", len(fresh), "versions", versions, "restored_in", time.Since(began).String())
	s.in.forgotten.Say(s.in.cfg.Logger, s.in.cfg.Ordering.Versions.MaxKeys, time.Now())
	return nil
}

// replay calls f with all committed records of a memory topic in the states' partitions, but for those that a checkpoint
// forgets.
func (in *instance) replay(ctx context.Context, adm *kadm.Client, topic string, since time.Time, states map[int32]*partitionState, f func(*partitionState, *kgo.Record) error) error {
	from := func(yield func(int32, int64) bool) {
		for p, state := range states {
			if !yield(p, state.forgotten(topic, in.cfg.Dedupe.LedgerTopic)) {
				return
			}
		}
	}
	return in.cluster.Replay(ctx, adm, topic, since, from, func(r *kgo.Record) error {
		err := f(states[r.Partition], r)
		if err == nil {
			return nil
		}
		why := ErrAlienMemory
		if errors.Is(err, statetopic.ErrNewer) || errors.Is(err, idempotency.ErrNewerLedger) {
			why = errNewerMemory
		}
		return fmt.Errorf("%w: %s: %w", why, header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}, err)
	})
}

// restoreLedgers reads what took effect within the window, after the checkpoints are read.
func (in *instance) restoreLedgers(ctx context.Context, adm *kadm.Client, states map[int32]*partitionState, now time.Time) error {
	d := in.cfg.Dedupe
	if !d.On() {
		return nil
	}
	if err := in.rescale(ctx, adm, states); err != nil {
		return err
	}
	return in.replay(ctx, adm, d.LedgerTopic, now.Add(-d.Window), states, func(state *partitionState, r *kgo.Record) error {
		return state.memory.RestoreLedger(r.Value, now, state.checkpoint != nil && r.Offset < state.checkpoint.ScaleFrom)
	})
}

// rescale handles partitions whose ledger has versions of another scale: it stores the current end of the ledger in
// their checkpoints, before which that scale applies.
func (in *instance) rescale(ctx context.Context, adm *kadm.Client, states map[int32]*partitionState) error {
	scale, topic := scaleOf(&in.cfg.Ordering), in.cfg.Dedupe.LedgerTopic
	var ends kadm.ListedOffsets
	for p, state := range states {
		if state.checkpoint == nil || !state.checkpoint.Scale.Differs(scale) {
			continue
		}
		if ends == nil {
			var err error
			if ends, err = adm.ListEndOffsets(ctx, topic); err != nil {
				return fmt.Errorf("end of %s: %w", topic, err)
			}
			in.cfg.Logger.WarnContext(ctx, "versions are read from another place than before; what took effect before counts by its source offset",
				"versions", in.cfg.Ordering.Versions.Of, "scale_before", string(state.checkpoint.Scale), "scale", string(scale))
		}
		end, ok := ends.Lookup(topic, p)
		if !ok {
			return fmt.Errorf("the brokers do not know partition %d of %s", p, topic)
		}
		if end.Err != nil {
			return fmt.Errorf("end of partition %d of %s cannot be read: %w", p, topic, in.denial("Describe", "topic "+topic, end.Err))
		}
		state.checkpoint.Scale, state.checkpoint.ScaleFrom = scale, end.Offset
	}
	return nil
}
