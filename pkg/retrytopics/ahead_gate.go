package retrytopics

import (
	"cmp"
	"slices"
)

// The commit's metadata must always have room for what is finished beyond the position. Runs of finished offsets are
// separated by unfinished ones, so a partition whose started records have at most n unfinished among them has at most n+1 runs.
// A record that would widen the started part beyond that is not started: it waits until lower ones finish. One that lies
// within the started part never waits, and neither does the first unfinished one, so the partition always moves on. The check
// stands before a record takes its key, so that no record waits for room while others wait for its key.

// gate is the scheduler's view of one partition. The scheduler's mutex guards it.
type gate struct {
	started  int64          // one beyond the highest place that was started
	finished int64          // places finished, those of a former owner included
	restored int64          // runs of a former owner that were not taken again yet
	blocked  queue[fetched] // by place
}

// opens says whether the record at a place may start while at most limit may be unfinished below the highest started.
func (g *gate) opens(index, limit int64) bool {
	return index < g.started || index+1-g.finished <= max(limit-g.restored, 1)
}

// pass notes that a place was finished before it was taken.
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

// finished notes that a task is done and starts what has room now. The mutex is held.
func (s *scheduler) finished(t *task) {
	g := &t.from.gate
	g.finished++
	s.startBlocked(g)
}

// startBlocked starts what waits for room and has it now. The mutex is held.
func (s *scheduler) startBlocked(g *gate) {
	for g.blocked.len() > 0 && g.opens(g.blocked.items()[0].index, s.ahead) {
		s.offer(g.blocked.pop())
	}
}

// block lets a record wait. Those of the source come in order; in a tier the due times mix them.
func (g *gate) block(r fetched) {
	before, at := g.blocked.items(), g.blocked.len()
	if at > 0 && before[at-1].index > r.index {
		at, _ = slices.BinarySearchFunc(before, r.index, func(b fetched, index int64) int { return cmp.Compare(b.index, index) })
	}
	g.blocked.insert(at, r)
}
