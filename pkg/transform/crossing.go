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
