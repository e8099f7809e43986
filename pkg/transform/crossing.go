package transform

import (
	"slices"

	"github.com/paulmach/orb"
)

// maxPairs bounds the work to find a crossing: a ring that needs more keeps the
// location that is known without it.
const maxPairs = 4_000_000

// segment is an edge of a ring, from a to b, with its place among the edges.
type segment struct {
	a, b  orb.Point
	index int
}

func (s segment) minX() float64 { return min(s.a[0], s.b[0]) }
func (s segment) maxX() float64 { return max(s.a[0], s.b[0]) }

// selfIntersection returns a point where a closed ring meets itself other than
// from edge to next edge. It sweeps from west to east and compares the edges
// that overlap in longitude.
func selfIntersection(ring orb.Ring) (orb.Point, bool) {
	edges := edgesOf(ring)
	last := len(edges) - 1
	slices.SortFunc(edges, func(s, t segment) int {
		switch {
		case s.minX() < t.minX():
			return -1
		case s.minX() > t.minX():
			return 1
		}
		return s.index - t.index
	})
	var active []segment
	for pairs := 0; len(edges) > 0; edges = edges[1:] {
		s := edges[0]
		active = slices.DeleteFunc(active, func(t segment) bool { return t.maxX() < s.minX() })
		if pairs += len(active); pairs > maxPairs {
			break
		}
		for _, t := range active {
			if at, found := meet(s, t, last); found {
				return at, true
			}
		}
		active = append(active, s)
	}
	return orb.Point{}, false
}

// edgesOf returns the edges of a ring, without those of no length.
func edgesOf(ring orb.Ring) []segment {
	edges := make([]segment, 0, len(ring))
	for i := 1; i < len(ring); i++ {
		if ring[i-1] != ring[i] {
			edges = append(edges, segment{ring[i-1], ring[i], len(edges)})
		}
	}
	return edges
}

// meet returns a point that two edges share, unless it is the corner between
// neighbours.
func meet(s, t segment, last int) (orb.Point, bool) {
	if s.index > t.index {
		s, t = t, s
	}
	follows := t.index == s.index+1
	closes := s.index == 0 && t.index == last
	switch {
	case follows && closes: // a ring of two edges runs back on itself
		return s.a, true
	case follows:
		return spike(s.a, s.b, t.b)
	case closes:
		return spike(s.b, s.a, t.a)
	}
	return crossing(s, t)
}

// spike reports whether the way from corner to far runs back over the one from
// corner to near.
func spike(near, corner, far orb.Point) (orb.Point, bool) {
	if side(near, corner, far) != 0 {
		return orb.Point{}, false
	}
	back := (near[0]-corner[0])*(far[0]-corner[0]) + (near[1]-corner[1])*(far[1]-corner[1])
	return corner, back > 0
}

// crossing returns a point that two edges without a common corner share.
func crossing(s, t segment) (orb.Point, bool) {
	ta, tb := side(s.a, s.b, t.a), side(s.a, s.b, t.b)
	sa, sb := side(t.a, t.b, s.a), side(t.a, t.b, s.b)
	for _, touch := range [...]struct {
		side    float64
		point   orb.Point
		segment segment
	}{{ta, t.a, s}, {tb, t.b, s}, {sa, s.a, t}, {sb, s.b, t}} {
		if touch.side == 0 && within2D(touch.point, touch.segment) {
			return touch.point, true
		}
	}
	if ta*tb >= 0 || sa*sb >= 0 {
		return orb.Point{}, false
	}
	part := ta / (ta - tb)
	return orb.Point{t.a[0] + part*(t.b[0]-t.a[0]), t.a[1] + part*(t.b[1]-t.a[1])}, true
}

// side is positive when p lies left of the way from a to b, negative when it
// lies right of it.
func side(a, b, p orb.Point) float64 {
	return (b[0]-a[0])*(p[1]-a[1]) - (b[1]-a[1])*(p[0]-a[0])
}

// within2D reports whether p, on the line through s, lies on s.
func within2D(p orb.Point, s segment) bool {
	return min(s.a[0], s.b[0]) <= p[0] && p[0] <= max(s.a[0], s.b[0]) &&
		min(s.a[1], s.b[1]) <= p[1] && p[1] <= max(s.a[1], s.b[1])
}
