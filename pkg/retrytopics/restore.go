package retrytopics

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
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
		err := replay(ctx, s.in, s.adm, s.in.cfg.Ordering.StateTopic, time.Time{}, fresh, (*partitionState).restoreState)
		if err != nil {
			return err
		}
	}
	if err := restoreLedgers(ctx, s.in, s.adm, fresh, s.in.attempts.now()); err != nil {
		return err
	}
	if err := s.resumeFromCheckpoint(ctx, fresh); err != nil {
		return err
	}
	if t := s.in.cfg.Journal.HashChain; t.On() {
		err := replay(ctx, s.in, s.adm, t.HeadTopic, time.Time{}, fresh, func(state *partitionState, r *kgo.Record) error {
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
