package transform

import (
	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/rtree"
)

// maxPairs bounds the pairs of edges that are compared.
const maxPairs = 4_000_000

// segment is an edge of a ring or line, from a to b, with its place among the
// edges.
type segment struct {
	a, b  orb.Point
	index int
}

func (s segment) box() rtree.Box {
	return rtree.Box{MinX: min(s.a[0], s.b[0]), MinY: min(s.a[1], s.b[1]), MaxX: max(s.a[0], s.b[0]), MaxY: max(s.a[1], s.b[1])}
}

// eachPair calls visit with the pairs of edges whose boxes meet, the later edge
// first, until visit returns false. It is false when there were too many pairs
// to look at all. The cost is n log n and the number of pairs.
func eachPair(edges []segment, visit func(s, t segment) bool) (whole bool) {
	items := make([]rtree.BulkItem, len(edges))
	for i, edge := range edges {
		items[i] = rtree.BulkItem{Box: edge.box(), RecordID: i}
	}
	tree := rtree.BulkLoad(items)
	pairs, done := 0, false
	for i := 0; i < len(edges) && !done; i++ {
		// The only error is ours: to stop.
		_ = tree.RangeSearch(edges[i].box(), func(j int) error {
			if j >= i {
				return nil
			}
			if pairs++; pairs > maxPairs || !visit(edges[i], edges[j]) {
				done = true
				return rtree.Stop
			}
			return nil
		})
	}
	return pairs <= maxPairs
}

// selfIntersection returns a point where a closed ring meets itself other than
// from edge to next edge. It finds none in a ring with too many pairs of edges.
func selfIntersection(ring orb.Ring) (at orb.Point, found bool) {
	edges := edgesOf(ring)
	last := len(edges) - 1
	eachPair(edges, func(s, t segment) bool {
		at, found = meet(s, t, last)
		return !found
	})
	return at, found
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
