package schedule

import (
	"cmp"
	"context"
	"slices"
)

// Source is the tier of the source's partitions.
const Source = -1

// Partition is one partition of the source or of a retry topic, from its assignment until it is dropped.
type Partition struct {
	Tier    int             // index of the retry topic, or Source
	Context context.Context // of its records' handlers; it ends when the partition is dropped

	cancel context.CancelFunc
	keys   map[uint64]*Task   // by hash: the task that has the key, or the last one that waits behind it
	make   func(Record) *Task // makes the task of a record without one
	gate   gate
	gone   bool // dropped: results of its tasks are late
}

// NewPartition returns a partition whose handlers run within a context. Partitions of one number share their keys, so
// sibling is an existing one of them, or nil for the first. task makes the task of a record that was added without
// one. It is called with the scheduler's mutex held.
func NewPartition(ctx context.Context, tier int, sibling *Partition, task func(Record) *Task) *Partition {
	p := &Partition{Tier: tier, make: task}
	p.Context, p.cancel = context.WithCancel(ctx)
	if sibling != nil {
		p.keys = sibling.keys
	} else {
		p.keys = map[uint64]*Task{}
	}
	return p
}

// The commit's metadata must have room for all offsets that are finished beyond the committed position. Runs of finished
// offsets are separated by unfinished ones, so a partition with at most n unfinished records among its started ones has
// at most n+1 runs. A record that would exceed this waits until lower ones finish. A record below the highest started
// one never waits, and neither does the first unfinished one, so the partition always advances. The check comes before a
// record takes its key: no record waits for room while others wait for its key.

// gate decides which records of a partition may start. The scheduler's mutex guards it.
type gate struct {
	started  int64         // one beyond the highest started index
	finished int64         // finished indexes, including those of a former owner
	restored int64         // runs finished by a former owner and not fetched again yet
	blocked  queue[Record] // by index
}

// opens reports whether the record at an index may start while at most limit records below the highest started one may
// be unfinished.
func (g *gate) opens(index, limit int64) bool {
	return index < g.started || index+1-g.finished <= max(limit-g.restored, 1)
}

// pass records that an index was finished before it was fetched.
func (g *gate) pass(index int64) {
	g.started = max(g.started, index+1)
	g.finished++
}

// block lets a record wait. Source records arrive in order; due times mix the order of retry records.
func (g *gate) block(r Record) {
	before, at := g.blocked.items(), g.blocked.len()
	if at > 0 && before[at-1].Index > r.Index {
		at, _ = slices.BinarySearchFunc(before, r.Index, func(b Record, index int64) int { return cmp.Compare(b.Index, index) })
	}
	g.blocked.insert(at, r)
}

// offer starts a record that is due, or lets it wait for room. The mutex is held.
func (s *Scheduler) offer(r Record) {
	g := &r.Partition.gate
	if !g.opens(r.Index, s.cfg.Unfinished) {
		g.block(r)
		return
	}
	g.started = max(g.started, r.Index+1)
	s.enqueue(r)
}

// finished records that a task is done, and starts the records that have room now. The mutex is held.
func (s *Scheduler) finished(t *Task) {
	g := &t.Partition.gate
	g.finished++
	s.startBlocked(g)
}

// startBlocked starts the waiting records that have room now. The mutex is held.
func (s *Scheduler) startBlocked(g *gate) {
	for g.blocked.len() > 0 && g.opens(g.blocked.items()[0].Index, s.cfg.Unfinished) {
		s.offer(g.blocked.pop())
	}
}
