package validity

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry/exact"
	"github.com/switchback-geo/switchback/pkg/geometry/sweep"
)

// none is no edge, node or chain.
const none = sweep.None

// chain is a ring or a line. Its corners are those of the judge from first up to end, without repetitions.
type chain struct {
	polygon, ring int32 // its indexes in the geometry; ring 0 is the exterior
	first, end    int32
	closed        bool

	begun            bool // the sweep has reached it
	counterclockwise bool
	parent           int32 // the innermost ring around it, or none
}

// edge leads from a corner to the next one.
type edge struct {
	sweep.Segment
	chain   int32
	forward bool // the chain runs from west to east
}

// conflict is a fault in terms of the sweep.
type conflict struct {
	rule  Rule
	chain int32
	at    orb.Point
}

// event is a corner that the sweep reaches.
type event struct {
	at     orb.Point
	corner int32
}

// judge sweeps over chains from west to east, and from south to north where the longitude is the same.
type judge struct {
	chains  []chain
	corners []orb.Point
	edges   []edge // edge i leaves corner i; the last one of an open chain has chain none
	events  []event
	status  *sweep.Status
	graph   contacts

	// misplacement is a misplaced ring, which is reported if no rings cross.
	misplacement *conflict

	// Scratch of one point.
	rising  []int32 // edges that lie east of it, from south to north
	hit     []int32 // nodes of edges that end at or pass through it, from south to north
	present []int32 // the chain of each way through it
	scratch [3][8]int32
}

func newJudge(chains, positions int) *judge {
	s := &judge{
		chains:  make([]chain, 0, chains),
		corners: make([]orb.Point, 0, positions),
		edges:   make([]edge, 0, positions),
	}
	s.rising, s.hit, s.present = s.scratch[0][:0], s.scratch[1][:0], s.scratch[2][:0]
	return s
}

// add adds a chain, whose positions are finite and not all the same. A closed one repeats its first position.
func (s *judge) add(positions []orb.Point, closed bool, polygon, ring int) {
	first, id := len(s.corners), int32(len(s.chains))
	for i, p := range positions {
		if i == 0 || p != s.corners[len(s.corners)-1] {
			s.corners = append(s.corners, p)
		}
	}
	if closed {
		s.corners = s.corners[:len(s.corners)-1]
	}
	end := len(s.corners)
	for i := first; i < end; i++ {
		next := i + 1
		if next == end {
			next = first
		}
		e := edge{Segment: sweep.Segment{West: s.corners[i], East: s.corners[next], Node: none}, chain: id, forward: true}
		if sweep.Before(e.East, e.West) {
			e.West, e.East, e.forward = e.East, e.West, false
		}
		s.edges = append(s.edges, e)
	}
	if !closed {
		s.edges[end-1].chain = none
	}
	s.chains = append(s.chains, chain{polygon: int32(polygon), ring: int32(ring),
		first: int32(first), end: int32(end), closed: closed, parent: none})
}

// pointsPerLook is the number of points after which the sweep checks its context: less than a millisecond of work.
const pointsPerLook = 1024

// run returns the first conflict that it finds. The error is that of a context that has ended.
func (s *judge) run(ctx context.Context) (*conflict, error) {
	s.events = make([]event, len(s.corners))
	for i, p := range s.corners {
		s.events[i] = event{p, int32(i)}
	}
	slices.SortFunc(s.events, func(a, b event) int {
		return cmp.Or(sweep.Compare(a.at, b.at), cmp.Compare(a.corner, b.corner))
	})
	s.status = sweep.New(func(e int32) *sweep.Segment { return &s.edges[e].Segment })
	s.graph.init(s.chains)
	for begin, turn := 0, 0; begin < len(s.events); turn++ {
		if turn%pointsPerLook == pointsPerLook-1 && ctx.Err() != nil {
			return nil, fmt.Errorf("judge a geometry of %d positions: %w", len(s.corners), context.Cause(ctx))
		}
		end := begin + 1
		for end < len(s.events) && s.events[end].at == s.events[begin].at {
			end++
		}
		if found := s.pass(s.events[begin].at, s.events[begin:end]); found != nil {
			return found, nil
		}
		begin = end
	}
	if s.misplacement != nil {
		return s.misplacement, nil
	}
	return s.graph.circle, nil
}

// pass moves the sweep over one point and the corners there.
func (s *judge) pass(p orb.Point, corners []event) *conflict {
	below, above := s.gather(p, corners)
	if found := s.sortRising(p); found != nil {
		return found
	}
	if len(s.present) > 1 {
		if found := s.judgeContact(p); found != nil {
			return found
		}
	}
	s.status.Place(below, s.hit, s.rising)
	s.begin(p, below)
	if len(s.rising) == 0 {
		return s.crossing(below, above)
	}
	if found := s.crossing(below, s.rising[0]); found != nil {
		return found
	}
	return s.crossing(s.rising[len(s.rising)-1], above)
}

// gather finds the edges at p: those that begin there, and those that end there or pass through it. below and above are
// the neighbouring edges, or none.
func (s *judge) gather(p orb.Point, corners []event) (below, above int32) {
	s.rising, s.hit, s.present = s.rising[:0], s.hit[:0], s.present[:0]
	known := none // a node of an edge that ends at p
	for _, event := range corners {
		c := s.chainAt(event.corner)
		s.present = append(s.present, c)
		for _, e := range [2]int32{event.corner, s.edgeBefore(c, event.corner)} {
			switch {
			case e == none || s.edges[e].chain == none:
			case s.edges[e].West == p:
				s.rising = append(s.rising, e)
			default:
				known = s.edges[e].Node
			}
		}
	}
	s.hit, below, above = s.status.Meet(s.hit, p, known)
	for _, n := range s.hit {
		if e := s.status.Item(n); s.edges[e].East != p { // it passes through
			s.rising = append(s.rising, e)
			s.present = append(s.present, s.edges[e].chain)
		}
	}
	return below, above
}

// chainAt returns the chain of a corner. An open chain's last corner has no edge of its own, so the previous edge
// identifies it.
func (s *judge) chainAt(corner int32) int32 {
	if c := s.edges[corner].chain; c != none {
		return c
	}
	return s.edges[corner-1].chain
}

// edgeBefore returns the edge that ends at a corner, or none.
func (s *judge) edgeBefore(c, corner int32) int32 {
	switch {
	case corner > s.chains[c].first:
		return corner - 1
	case s.chains[c].closed:
		return s.chains[c].end - 1
	}
	return none
}

// sortRising orders the edges that lie east of p from south to north. Two with the same direction overlap.
func (s *judge) sortRising(p orb.Point) *conflict {
	if len(s.rising) < 2 {
		return nil
	}
	slices.SortFunc(s.rising, func(a, b int32) int { return exact.Side(p, s.edges[b].East, s.edges[a].East) })
	for i := 1; i < len(s.rising); i++ {
		a, b := s.rising[i-1], s.rising[i]
		if exact.Side(p, s.edges[a].East, s.edges[b].East) == 0 {
			return s.between(s.edges[a].chain, s.edges[b].chain, p)
		}
	}
	return nil
}

// crossing returns the conflict of two neighbours that cross ahead of the sweep; nil when they do not.
func (s *judge) crossing(lower, upper int32) *conflict {
	if !s.status.Cross(lower, upper) {
		return nil
	}
	l, u := &s.edges[lower], &s.edges[upper]
	return s.between(l.chain, u.chain, crossingPoint(l, u))
}

// crossingPoint returns where two edges cross, rounded.
func crossingPoint(l, u *edge) orb.Point {
	dx, dy := l.East[0]-l.West[0], l.East[1]-l.West[1]
	from := dx*(u.West[1]-l.West[1]) - dy*(u.West[0]-l.West[0])
	to := dx*(u.East[1]-l.West[1]) - dy*(u.East[0]-l.West[0])
	part := 0.5 // for edges that are too flat to compute it
	if from != to {
		part = min(1, max(0, from/(from-to)))
	}
	return orb.Point{u.West[0] + part*(u.East[0]-u.West[0]), u.West[1] + part*(u.East[1]-u.West[1])}
}

// between returns the conflict of two chains, or of one with itself, that cross or overlap.
func (s *judge) between(a, b int32, at orb.Point) *conflict {
	rule := RingsTouch
	switch {
	case a == b:
		rule = RingNotSimple
	case s.chains[a].polygon != s.chains[b].polygon:
		rule = PolygonsOverlap
	}
	return &conflict{rule, max(a, b), at}
}
