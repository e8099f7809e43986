package retrytopics

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// staged is the content of one transaction: the results of finished tasks, and the positions that go with them.
type staged struct {
	tasks       []*heldTask // in the order in which they finished
	changes     map[*partitionState][]*memory.Change
	marks       map[*partition]offsets.Commit
	heads       map[*partitionState][]byte // new heads of hash chains
	losses      []Loss                     // that the positions pass over
	checkpoints map[*partitionState]*statetopic.Checkpoint
	removed     map[*partitionState]int // number of versions removed from the state topic
}

// stage collects the tasks that an aborted transaction has left and those that have finished since, in the order in
// which they finished, and computes the positions that their transaction commits.
func (s *session) stage() *staged {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &staged{marks: map[*partition]offsets.Commit{}, changes: map[*partitionState][]*memory.Change{}, heads: map[*partitionState][]byte{}, removed: map[*partitionState]int{}}
	st.tasks = append(s.left(), tasksOf(s.sched.Harvest())...) // none of a revoked partition: forgetting it takes its tasks away
	for _, t := range st.tasks {
		t.from.window.Finish(t.Offset)
		if !t.change.Empty() {
			st.changes[t.from.state] = append(st.changes[t.from.state], &t.change)
		}
	}
	for _, l := range s.partitions {
		if m := l.window.Commit(); m != l.committed && m.Offset >= 0 {
			st.marks[l] = m
		}
	}
	st.checkpoints = s.checkpoints(st.marks)
	st.losses = s.passed()
	return st
}

// left returns the tasks that an aborted transaction has left, without those of revoked partitions. The mutex is held.
func (s *session) left() []*heldTask {
	left := slices.DeleteFunc(s.aborted, func(t *heldTask) bool { return s.partitions[t.from.topicPartition] != t.from })
	s.aborted = nil
	return left
}

// moved reports whether there is anything to commit: a result, or a changed position.
func (s *session) moved() bool {
	if _, some := s.sched.Pending(); some {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.aborted) > 0 {
		return true
	}
	for _, l := range s.partitions {
		if m := l.window.Commit(); m != l.committed && m.Offset >= 0 {
			return true
		}
	}
	return false
}

// outputs returns what the tasks produce.
func (st *staged) outputs() []*kgo.Record {
	n := 0
	for _, t := range st.tasks {
		n += len(t.outputs)
	}
	all := make([]*kgo.Record, 0, n)
	for _, t := range st.tasks {
		all = append(all, t.outputs...)
	}
	return all
}

// owner returns the task of an output; nil for the engine's own records.
func (st *staged) owner(r *kgo.Record) *heldTask {
	for _, t := range st.tasks {
		if slices.Contains(t.outputs, r) {
			return t
		}
	}
	return nil
}

// memories returns the records for the state topic and the ledger: the states and versions of keys that the transaction
// changes, and per partition one packed record of what took effect and the checkpoint.
func memories(in *instance, st *staged) ([]*kgo.Record, error) {
	var records []*kgo.Record
	for state, changes := range st.changes {
		more, err := state.memory.Encode(changes)
		if err != nil {
			return nil, err
		}
		records = append(records, more...)
	}
	for state := range st.checkpoints {
		more, of := state.memory.EncodeRemovals()
		records, st.removed[state] = append(records, more...), of
	}
	checkpoints, err := checkpointRecords(in, st.checkpoints)
	return append(records, checkpoints...), err
}

// afterCommit updates the session after a committed transaction, and calls the hooks.
func (s *session) afterCommit(st *staged) {
	s.mu.Lock()
	s.lazy = false // not earlier: a position that moved without results must be committed even if its transaction was aborted
	s.abortedAt = time.Time{}
	for l, m := range st.marks {
		l.committed = m
	}
	for state, changes := range st.changes {
		state.memory.Commit(changes)
	}
	for state, head := range st.heads {
		state.head = head
	}
	for state, n := range st.removed {
		state.memory.Removed(n)
	}
	for state, cp := range st.checkpoints {
		state.checkpoint = cp
	}
	s.dropLosses(func(l Loss) bool { return slices.Contains(st.losses, l) })
	s.in.lost.add(st.losses)
	events := make([]*Event, 0, len(st.tasks))
	for _, t := range st.tasks {
		t.from.let(t.Offset, t.Weight)
		delete(s.refused, t.record.Position)
		events = append(events, &t.event)
		s.waits(t)
	}
	s.balance(false)
	s.mu.Unlock()
	s.in.forgotten.Say(s.in.cfg.Logger, s.in.cfg.Ordering.Versions.MaxKeys, time.Now())
	if len(events) > 0 {
		s.in.cfg.Hooks.OnCommit(events)
	}
}

// waits records where a task's record waits now. The mutex is held.
func (s *session) waits(t *heldTask) {
	if o := t.event.Decision.Outcome; o != policy.OutcomeRetried && o != policy.OutcomeParked {
		return
	}
	if l := s.partitions[topicPartition{t.event.Destination, t.from.partition}]; l != nil {
		l.wrote(t.outputs[0].Offset)
	}
}
