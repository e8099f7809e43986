package schedule

import (
	"slices"
)

// The tests that explore every interleaving of an engine control a scheduler step by step: they see what may run
// next, choose it, and continue from copies. Nothing else needs this file.

// State is the content of a scheduler. No task runs or is deferred for a dependency.
type State struct {
	Source, Retry  []Record // runnable ones, in their order
	Waiting, Ready []*Task  // Waiting begins with the task that is due next
}

// State returns the content of the scheduler.
func (s *Scheduler) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{slices.Clone(s.source.items()), slices.Clone(s.due.items()), slices.Clone(s.waiting), slices.Clone(s.ready)}
}

// Start starts the first runnable record for which choose returns true. It returns nil if there is none, or if
// another task has its key.
func (s *Scheduler) Start(chosen func(Record) bool) *Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range []*queue[Record]{&s.source, &s.due} {
		if i := slices.IndexFunc(q.items(), chosen); i >= 0 {
			r := q.items()[i]
			q.all = slices.Delete(q.all, q.head+i, q.head+i+1)
			return s.start(r)
		}
	}
	return nil
}

// Copy returns a scheduler in the same state, with copies of the tasks and partitions. It has no timers: results are
// never ripe by time, and a task that is due waits for Surface.
func (s *Scheduler) Copy(task func(*Task) *Task, partition func(*Partition) *Partition) *Scheduler {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := newStill(s.cfg)
	n.most, n.running, n.weight, n.readyBytes = s.most, s.running, s.weight, s.readyBytes
	n.source, n.due = copied(&s.source, task, partition), copied(&s.due, task, partition)
	for _, t := range s.waiting {
		n.waiting = append(n.waiting, task(t))
	}
	for _, t := range s.ready {
		n.ready = append(n.ready, task(t))
	}
	return n
}

func copied(q *queue[Record], task func(*Task) *Task, partition func(*Partition) *Partition) (n queue[Record]) {
	for _, r := range q.items() {
		r.Partition = partition(r.Partition)
		if r.Task != nil {
			r.Task = task(r.Task)
		}
		n.push(r)
	}
	return n
}

// Gate describes which records of a partition may start, see gate.
type Gate struct {
	Started, Finished, Restored int64
	Blocked                     []Record // by index
}

// Gate returns the partition's gate.
func (p *Partition) Gate() Gate {
	return Gate{p.gate.started, p.gate.finished, p.gate.restored, slices.Clone(p.gate.blocked.items())}
}

// Begin makes p, which is a copy, continue where a partition is.
func (p *Partition) Begin(at *Partition, task func(*Task) *Task) {
	p.gone, p.gate = at.gone, at.gate
	p.gate.blocked = copied(&at.gate.blocked, task, func(*Partition) *Partition { return p })
}
