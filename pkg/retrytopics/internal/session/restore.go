package session

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
)

// restore reads the state of new partitions before they start: the order of their keys, and the events that took
// effect in the window. Rebalances wait meanwhile.
func (s *Session) restore(ctx context.Context) error {
	s.mu.Lock()
	fresh := map[int32]*partition.State{}
	for p, state := range s.states {
		if !state.Restored {
			fresh[p] = state
		}
	}
	s.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	began := time.Now()
	if s.layout.States {
		err := partition.Replay(ctx, s.in, s.adm, s.in.Cfg.Ordering.StateTopic, time.Time{}, fresh, (*partition.State).RestoreState)
		if err != nil {
			return err
		}
	}
	if err := partition.RestoreLedgers(ctx, s.in, s.adm, fresh, s.in.Attempts.Now()); err != nil {
		return err
	}
	if err := s.resumeFromCheckpoint(ctx, fresh); err != nil {
		return err
	}
	if t := s.in.Cfg.Journal.HashChain; t.On() {
		err := partition.Replay(ctx, s.in, s.adm, t.HeadTopic, time.Time{}, fresh, func(state *partition.State, r *kgo.Record) error {
			state.Head = r.Value
			return nil
		})
		if err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, state := range fresh {
		state.Open()
	}
	versions := 0
	for _, state := range fresh {
		versions += state.Memory.Size().Versions
	}
	s.in.Cfg.Logger.InfoContext(ctx, "partitions started", "partitions", len(fresh), "versions", versions, "restored_in", time.Since(began).String())
	s.in.Forgotten.Say(s.in.Cfg.Logger, s.in.Cfg.Ordering.Versions.MaxKeys, time.Now())
	return nil
}
