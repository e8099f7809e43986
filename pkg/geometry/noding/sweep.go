package noding

import (
	"slices"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry/exact"
	"github.com/switchback-geo/switchback/pkg/geometry/sweep"
)

// none stands for no edge and for no node.
const none = sweep.None

// edge is a segment in the sweep. If several edges overlap from a place on, the sweep handles only the shortest of them
// until it ends.
type edge struct {
	sweep.Segment
	begin, finish orb.Point // where it began and where it ends
	waiting       int32     // the first edge that continues where this one ends, or none
	also          int32     // the next edge that waits together with this one, or none
	stamp         int32     // the last group of crossings to which it belonged
}

// newEdge returns an edge. The place west must come before east.
func newEdge(west, east orb.Point) edge {
	return edge{Segment: sweep.Segment{West: west, East: east, Node: none}, begin: west, finish: east, waiting: none, also: none}
}

// around holds the edges at one place of the sweep.
type around struct {
	place  orb.Point
	rising []int32 // edges that continue to the east, from south to north
	ending []int32 // edges that end here, from south to north
	below  int32   // the edge right below the place, or none
}

// sweeper moves over the edges from west to east.
type sweeper struct {
	edges  []edge
	queue  *queue
	status *sweep.Status
	budget *budget

	crossed func(c *crossing) // called with each crossing that is not an end
	passed  func(a *around)   // called with each place where edges end

	at    around
	hits  []int32 // nodes of the edges that end at or pass through the place
	ended []int32 // scratch space of release
	pack  []crossing
	stamp int32 // number of the last group of crossings
}

// run sweeps over all edges. It returns [ErrCrossings] or the error of the context.
func (s *sweeper) run() error {
	s.queue, s.status = newQueue(s.edges), sweep.New(func(e int32) *sweep.Segment { return &s.edges[e].Segment })
	for {
		if err := s.budget.turn(); err != nil {
			return err
		}
		p, more := s.queue.next()
		var err error
		switch {
		case s.queue.crossingFirst(p, more):
			err = s.cross()
		case more:
			err = s.pass(p)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// pass moves the sweep over a place where edges begin or end.
func (s *sweeper) pass(p orb.Point) error {
	s.at.place = p
	below, above := s.gather(p)
	s.at.below = below
	s.sortRising(p)
	if s.passed != nil {
		s.passed(&s.at)
	}
	s.status.Place(below, s.hits, s.at.rising)
	if len(s.at.rising) == 0 {
		return s.foresee(below, above)
	}
	if err := s.foresee(below, s.at.rising[0]); err != nil {
		return err
	}
	return s.foresee(s.at.rising[len(s.at.rising)-1], above)
}

// gather finds the edges at p: those that begin there, and those that end there or pass through it. It returns the edges
// right below and right above them, or none.
func (s *sweeper) gather(p orb.Point) (below, above int32) {
	s.at.rising, s.at.ending, s.hits = s.at.rising[:0], s.at.ending[:0], s.hits[:0]
	q, known := s.queue, none
	for ; len(q.starts) > 0 && s.edges[q.starts[0]].begin == p; q.starts = q.starts[1:] {
		s.at.rising = append(s.at.rising, q.starts[0])
	}
	for ; len(q.ends) > 0 && s.edges[q.ends[0]].finish == p; q.ends = q.ends[1:] {
		e := &s.edges[q.ends[0]]
		if e.Node == none {
			continue // it equals another edge
		}
		known = e.Node
		s.release(q.ends[0], p)
	}
	s.hits, below, above = s.status.Meet(s.hits, p, known)
	for _, n := range s.hits {
		e := s.status.Item(n)
		s.edges[e].Node = none
		if s.edges[e].East == p {
			s.at.ending = append(s.at.ending, e)
		} else {
			s.at.rising = append(s.at.rising, e)
		}
	}
	return below, above
}

// sortRising orders the edges that continue east of p from south to north. Of edges that overlap, the shortest stays.
// Each of the others waits for the end of the next shorter one.
func (s *sweeper) sortRising(p orb.Point) {
	rising := s.at.rising
	slices.SortFunc(rising, func(a, b int32) int {
		if side := exact.Side(p, s.edges[b].East, s.edges[a].East); side != 0 {
			return side
		}
		return sweep.Compare(s.edges[a].East, s.edges[b].East)
	})
	kept, last := rising[:0], none
	for _, e := range rising {
		s.edges[e].West, s.edges[e].also = p, none
		if last != none && exact.Side(p, s.edges[last].East, s.edges[e].East) == 0 {
			s.edges[e].also, s.edges[last].waiting = s.edges[last].waiting, e
		} else {
			kept = append(kept, e)
		}
		last = e
	}
	s.at.rising = kept
}

// release resumes the edges that waited for the edge that ended at p. If such an edge ends at p too, it passes on the
// edges that wait for it.
func (s *sweeper) release(ended int32, p orb.Point) {
	s.ended = append(s.ended[:0], ended)
	for len(s.ended) > 0 {
		last := len(s.ended) - 1
		e := s.ended[last]
		s.ended = s.ended[:last]
		for w := s.edges[e].waiting; w != none; w = s.edges[w].also {
			if s.edges[w].East == p {
				s.ended = append(s.ended, w)
			} else {
				s.at.rising = append(s.at.rising, w)
			}
		}
	}
}
