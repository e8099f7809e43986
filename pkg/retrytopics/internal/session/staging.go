package session

import (
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/transaction"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// stage collects the tasks that an aborted transaction has left and those that have finished since, in the order in
// which they finished, and computes the positions that their transaction commits.
func (s *Session) stage() *transaction.Content {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := transaction.New()
	st.Tasks = append(s.left(), partition.TasksOf(s.Sched.Harvest())...) // none of a revoked partition: forgetting it removes its tasks
	for _, t := range st.Tasks {
		t.From.Window.Finish(t.Offset)
		if !t.Change.Empty() {
			st.Changes[t.From.State] = append(st.Changes[t.From.State], &t.Change)
		}
	}
	for _, l := range s.partitions {
		if m := l.Window.Commit(); m != l.Committed && m.Offset >= 0 {
			st.Marks[l] = m
		}
	}
	st.Checkpoints = s.checkpoints(st.Marks)
	st.Losses = s.passed()
	return st
}

// left returns the tasks that an aborted transaction has left, without those of revoked partitions. The mutex is held.
func (s *Session) left() []*partition.Task {
	left := slices.DeleteFunc(s.aborted, func(t *partition.Task) bool { return s.partitions[t.From.ID] != t.From })
	s.aborted = nil
	return left
}

// moved reports whether there is anything to commit: a result, or a changed position.
func (s *Session) moved() bool {
	if _, some := s.Sched.Pending(); some {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.aborted) > 0 {
		return true
	}
	for _, l := range s.partitions {
		if m := l.Window.Commit(); m != l.Committed && m.Offset >= 0 {
			return true
		}
	}
	return false
}

// afterCommit updates the session after a committed transaction, and calls the hooks.
func (s *Session) afterCommit(st *transaction.Content) {
	s.mu.Lock()
	s.lazy = false // not earlier: a position that moved without results must be committed even if its transaction was aborted
	s.abortedAt = time.Time{}
	for l, m := range st.Marks {
		l.Committed = m
	}
	for state, changes := range st.Changes {
		state.Memory.Commit(changes)
	}
	for state, head := range st.Heads {
		state.Head = head
	}
	for state, n := range st.Removed {
		state.Memory.Removed(n)
	}
	for state, cp := range st.Checkpoints {
		state.Checkpoint = cp
	}
	s.dropLosses(func(l retrytopics.Loss) bool { return slices.Contains(st.Losses, l) })
	s.in.Lost.Add(st.Losses)
	events := make([]*retrytopics.Event, 0, len(st.Tasks))
	for _, t := range st.Tasks {
		t.From.Let(t.Offset, t.Weight)
		delete(s.refused, t.Record.Position)
		events = append(events, &t.Event)
		s.waits(t)
	}
	s.balance(false)
	s.mu.Unlock()
	s.in.Forgotten.Say(s.in.Cfg.Logger, s.in.Cfg.Ordering.Versions.MaxKeys, time.Now())
	if len(events) > 0 {
		s.in.Cfg.Hooks.OnCommit(events)
	}
}

// waits records where a task's record waits now. The mutex is held.
func (s *Session) waits(t *partition.Task) {
	if o := t.Event.Decision.Outcome; o != policy.OutcomeRetried && o != policy.OutcomeParked {
		return
	}
	if l := s.partitions[partition.ID{Topic: t.Event.Destination, Partition: t.From.Partition}]; l != nil {
		l.Wrote(t.Outputs[0].Offset)
	}
}
