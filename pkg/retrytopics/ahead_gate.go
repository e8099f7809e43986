package retrytopics

import "container/heap"

// The commit's metadata must always have room for what is finished beyond the position. Runs of finished offsets are
// separated by unfinished ones, so a lane whose started records have at most n unfinished among them has at most n+1 runs.
// A record that would widen the started part beyond that is not started: it waits until lower ones finish. One that lies
// within the started part never waits, and neither does the first unfinished one, so the lane always moves on. The check
// stands before a record takes its key, so that no record waits for room while others wait for its key.

// gate is the scheduler's view of one lane. The scheduler's mutex guards it.
type gate struct {
	started  int64 // one beyond the highest place that was started
	finished int64 // places finished, those of a former owner included
	spare    int64 // runs of a former owner that were not taken again yet
	blocked  placeHeap
}

// opens says whether the record at a place may start while at most limit may be unfinished below the highest started.
func (g *gate) opens(place, limit int64) bool {
	return place < g.started || place+1-g.finished <= max(limit-g.spare, 1)
}

// pass notes that a place was finished before it was taken.
func (g *gate) pass(place int64) {
	g.started = max(g.started, place+1)
	g.finished++
}

// offer starts a task that is due, or lets it wait for room. The mutex is held.
func (s *scheduler) offer(t *task) {
	g := &t.lane.gate
	if !g.opens(t.place, s.ahead) {
		heap.Push(&g.blocked, t)
		return
	}
	g.started = max(g.started, t.place+1)
	s.enqueue(t)
}

// finished notes that a task is done and starts what has room now. The mutex is held.
func (s *scheduler) finished(t *task) {
	g := &t.lane.gate
	g.finished++
	for len(g.blocked) > 0 && g.opens(g.blocked[0].place, s.ahead) {
		s.offer(heap.Pop(&g.blocked).(*task))
	}
}

// placeHeap orders tasks by their place in the lane.
type placeHeap []*task

func (h placeHeap) Len() int           { return len(h) }
func (h placeHeap) Less(i, j int) bool { return h[i].place < h[j].place }
func (h placeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *placeHeap) Push(x any)        { *h = append(*h, x.(*task)) }
func (h *placeHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
