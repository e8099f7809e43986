package transform

import (
	"cmp"
	"slices"

	"github.com/paulmach/orb"
)

// maxNodings bounds how often edges are cut. A cut moves an edge by a rounding
// error, which may make it meet another one; that nearly always ends at once.
const maxNodings = 8

// edge is an undirected edge; its lesser end comes first.
type edge struct{ a, b orb.Point }

func edgeOf(a, b orb.Point) edge {
	if comparePoints(a, b) > 0 {
		a, b = b, a
	}
	return edge{a, b}
}

// comparePoints orders from west to east, and from south to north.
func comparePoints(a, b orb.Point) int {
	return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
}

// oddEdges cuts the edges of rings where they meet, and returns those that are
// there an odd number of times, in order. It is false when they cannot be
// separated.
func oddEdges(rings []orb.Ring) ([]edge, bool) {
	odd := map[edge]bool{}
	for _, ring := range rings {
		for i := 1; i < len(ring); i++ {
			toggle(odd, ring[i-1], ring[i])
		}
	}
	for range maxNodings {
		edges := sortedEdges(odd)
		cuts, whole := cutsOf(edges)
		if !whole {
			return nil, false
		}
		if len(cuts) == 0 {
			return edges, true
		}
		clear(odd)
		for i, e := range edges {
			for j, p := range append(cuts[i], e.b) {
				from := e.a
				if j > 0 {
					from = cuts[i][j-1]
				}
				toggle(odd, from, p)
			}
		}
	}
	return nil, false
}

// toggle adds an edge, or takes it away when it is there. One without length is
// none.
func toggle(odd map[edge]bool, a, b orb.Point) {
	switch e := edgeOf(a, b); {
	case a == b:
	case odd[e]:
		delete(odd, e)
	default:
		odd[e] = true
	}
}

func sortedEdges(set map[edge]bool) []edge {
	edges := make([]edge, 0, len(set))
	for e := range set {
		edges = append(edges, e)
	}
	slices.SortFunc(edges, func(s, t edge) int { return cmp.Or(comparePoints(s.a, t.a), comparePoints(s.b, t.b)) })
	return edges
}

// cutsOf returns the points at which each edge meets others inside of itself, on
// its way from a to b. It is false when there are too many pairs to look at.
func cutsOf(edges []edge) (map[int][]orb.Point, bool) {
	segments := make([]segment, len(edges))
	for i, e := range edges {
		segments[i] = segment{e.a, e.b, i}
	}
	cuts := map[int][]orb.Point{}
	whole := eachPair(segments, func(s, t segment) bool {
		for _, p := range meetings(s, t) {
			for _, own := range [...]segment{s, t} {
				if p != own.a && p != own.b {
					cuts[own.index] = append(cuts[own.index], p)
				}
			}
		}
		return true
	})
	for i, points := range cuts {
		// The lesser end comes first, so the way is that of the order of points
		// along the longer side of the edge.
		along := 0
		if e := edges[i]; abs(e.b[1]-e.a[1]) > abs(e.b[0]-e.a[0]) {
			along = 1
		}
		rising := edges[i].b[along] > edges[i].a[along]
		slices.SortFunc(points, func(p, q orb.Point) int {
			order := cmp.Or(cmp.Compare(p[along], q[along]), comparePoints(p, q))
			if !rising {
				return -order
			}
			return order
		})
		cuts[i] = slices.Compact(points)
	}
	return cuts, whole
}

func abs(x float64) float64 { return max(x, -x) }

// meetings returns the points that two edges share, the ends of an overlap for
// edges on one line.
func meetings(s, t segment) []orb.Point {
	ta, tb := side(s.a, s.b, t.a), side(s.a, s.b, t.b)
	sa, sb := side(t.a, t.b, s.a), side(t.a, t.b, s.b)
	var out []orb.Point
	for _, touch := range [...]struct {
		side  float64
		point orb.Point
		on    segment
	}{{ta, t.a, s}, {tb, t.b, s}, {sa, s.a, t}, {sb, s.b, t}} {
		if touch.side == 0 && within2D(touch.point, touch.on) {
			out = append(out, touch.point)
		}
	}
	if len(out) > 0 || ta*tb >= 0 || sa*sb >= 0 {
		return out
	}
	part := ta / (ta - tb)
	return []orb.Point{{t.a[0] + part*(t.b[0]-t.a[0]), t.a[1] + part*(t.b[1]-t.a[1])}}
}
