package retrytopics

import (
	"cmp"
	"slices"
)

// The commit's metadata must have room for all offsets that are finished beyond the committed position. Runs of finished
// offsets are separated by unfinished ones, so a partition with at most n unfinished records among its started ones has
// at most n+1 runs. A record that would exceed this waits until lower ones finish. A record below the highest started
// one never waits, and neither does the first unfinished one, so the partition always advances. The check comes before a
// record takes its key: no record waits for room while others wait for its key.

// gate is the scheduler's view of one partition. The scheduler's mutex guards it.
type gate struct {
	started  int64          // one beyond the highest started index
	finished int64          // finished indexes, including those of a former owner
	restored int64          // runs finished by a former owner and not fetched again yet
	blocked  queue[fetched] // by index
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

// offer starts a record that is due, or lets it wait for room. The mutex is held.
func (s *scheduler) offer(r fetched) {
	g := &r.from.gate
	if !g.opens(r.index, s.ahead) {
		g.block(r)
		return
	}
	g.started = max(g.started, r.index+1)
	s.enqueue(r)
}

// finished records that a task is done, and starts the records that have room now. The mutex is held.
func (s *scheduler) finished(t *task) {
	g := &t.from.gate
	g.finished++
	s.startBlocked(g)
}

// startBlocked starts the waiting records that have room now. The mutex is held.
func (s *scheduler) startBlocked(g *gate) {
	for g.blocked.len() > 0 && g.opens(g.blocked.items()[0].index, s.ahead) {
		s.offer(g.blocked.pop())
	}
}

// block lets a record wait. Source records arrive in order; due times mix the order of retry records.
func (g *gate) block(r fetched) {
	before, at := g.blocked.items(), g.blocked.len()
	if at > 0 && before[at-1].index > r.index {
		at, _ = slices.BinarySearchFunc(before, r.index, func(b fetched, index int64) int { return cmp.Compare(b.index, index) })
	}
	g.blocked.insert(at, r)
}
