package noding

import (
	"container/heap"
	"slices"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry/sweep"
)

// queue holds the places ahead of the sweep: the ends of edges in two lists, and the foreseen crossings in a heap.
type queue struct {
	edges      []edge
	starts     []int32 // sorted by west end
	ends       []int32 // sorted by east end
	crossings  []crossing
	arithmetic arithmetic
}

func newQueue(edges []edge) *queue {
	q := &queue{edges: edges, starts: make([]int32, len(edges)), ends: make([]int32, len(edges))}
	for i := range edges {
		q.starts[i], q.ends[i] = int32(i), int32(i)
	}
	slices.SortFunc(q.starts, func(i, j int32) int { return sweep.Compare(edges[i].West, edges[j].West) })
	slices.SortFunc(q.ends, func(i, j int32) int { return sweep.Compare(edges[i].East, edges[j].East) })
	return q
}

// next returns the next end of an edge, or false if there is none.
func (q *queue) next() (orb.Point, bool) {
	switch {
	case len(q.ends) == 0: // an edge that has not begun cannot have ended
		return orb.Point{}, false
	case len(q.starts) == 0:
		return q.edges[q.ends[0]].finish, true
	}
	p, e := q.edges[q.starts[0]].begin, q.edges[q.ends[0]].finish
	if sweep.Before(e, p) {
		return e, true
	}
	return p, true
}

// crossingFirst reports whether a foreseen crossing comes before p, the next end of an edge. If more is false, no end is
// left. A crossing exactly at p does not count: the sweep handles it with the ends at p.
func (q *queue) crossingFirst(p orb.Point, more bool) bool {
	for len(q.crossings) > 0 {
		c := &q.crossings[0]
		if !more || c.isBefore(p) {
			return true
		}
		if c.restX != 0 || c.restY != 0 || c.floor() != p {
			return false
		}
		q.pop()
	}
	return false
}

// isBefore reports whether a crossing comes before p, a place of whole units.
func (c *crossing) isBefore(p orb.Point) bool {
	switch {
	case c.x != p[0]:
		return c.x < p[0]
	case c.restX != 0:
		return false
	}
	return c.y < p[1]
}

// Len, Less, Swap, Push and Pop implement [heap.Interface] for the crossings.
func (q *queue) Len() int { return len(q.crossings) }

func (q *queue) Less(i, j int) bool {
	return q.arithmetic.compare(&q.crossings[i], &q.crossings[j], q.edges) < 0
}

func (q *queue) Swap(i, j int) { q.crossings[i], q.crossings[j] = q.crossings[j], q.crossings[i] }

func (q *queue) Push(c any) { q.crossings = append(q.crossings, *c.(*crossing)) }

func (q *queue) Pop() any {
	last := &q.crossings[len(q.crossings)-1]
	q.crossings = q.crossings[:len(q.crossings)-1]
	return last
}

// pop removes and returns the first crossing.
func (q *queue) pop() crossing { return *heap.Pop(q).(*crossing) }
