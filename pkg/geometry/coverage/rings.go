package coverage

import (
	"cmp"
	"slices"

	"github.com/switchback-geo/switchback/pkg/geometry/exact"
	"github.com/switchback-geo/switchback/pkg/geometry/noding"
)

// ring is a closed sequence of nodes. The first node is not repeated at the end.
type ring []int32

// polygon is an exterior ring followed by its holes.
type polygon []ring

// tracer traces the rings around the covered area, which always lies to their left.
type tracer struct {
	*faces
	own     []bool  // per node: whether a position of the input lies there
	walked  []bool  // per half-edge
	place   []int32 // per node: its index on the current path; -1 if it is not on the path
	pieces  map[int32]polygon
	strange bool // whether the rings contradict each other
}

// polygons returns the covered polygons from west to east. It returns false if the rings contradict each other, which
// only a fault of this package can cause.
func (f *faces) polygons(own []bool) ([]polygon, bool) {
	for e := range f.Edges {
		if a, b := f.left(int32(2*e)), f.left(int32(2*e+1)); f.covered[a] && f.covered[b] {
			f.unite(a, b)
			f.covered[f.root(a)] = true
		}
	}
	t := &tracer{faces: f, own: own, walked: make([]bool, len(f.cycle)), place: make([]int32, len(f.Nodes)), pieces: map[int32]polygon{}}
	for i := range t.place {
		t.place[i] = -1
	}
	for node := range f.Nodes {
		for _, half := range f.Out(int32(node)) {
			if !t.walked[half] && t.border(half) {
				t.trace(half)
			}
		}
	}
	out := make([]polygon, 0, len(t.pieces))
	for _, rings := range t.pieces {
		if t.area(rings[0]) <= 0 {
			return nil, false
		}
		slices.SortFunc(rings[1:], func(a, b ring) int { return cmp.Compare(a[0], b[0]) })
		out = append(out, rings)
	}
	slices.SortFunc(out, func(a, b polygon) int { return slices.Compare(a[0], b[0]) })
	return out, !t.strange
}

// border reports whether the covered area lies to the left of a half-edge and not to its right.
func (f *faces) border(half int32) bool {
	return f.covered[f.left(half)] && !f.covered[f.left(half^1)]
}

// trace follows one side of the covered area. It splits off a ring whenever the path returns to a node.
func (t *tracer) trace(first int32) {
	piece := t.left(first)
	var way ring
	for half := first; !t.walked[half]; half = t.follow(half) {
		t.walked[half] = true
		node := t.Origin(half)
		if at := t.place[node]; at >= 0 {
			t.keep(piece, slices.Clone(way[at:]))
			for _, passed := range way[at+1:] {
				t.place[passed] = -1
			}
			way = way[:at+1]
			continue
		}
		t.place[node] = int32(len(way))
		way = append(way, node)
	}
	t.keep(piece, slices.Clone(way))
	for _, passed := range way {
		t.place[passed] = -1
	}
}

// follow returns the half-edge of the border that continues half. The area between the two is covered.
func (t *tracer) follow(half int32) int32 {
	for next := t.Next(half); ; next = t.Clockwise(next) {
		if t.border(next) {
			return next
		}
	}
}

// keep adds a ring to its polygon, as exterior or hole.
func (t *tracer) keep(piece int32, r ring) {
	r = t.plain(r)
	if len(r) < 3 {
		t.strange = true
		return
	}
	first := slices.Index(r, slices.Min(r)) // node numbers increase from west to east
	r = slices.Concat(r[first:], r[:first])
	rings := t.pieces[piece]
	if t.area(r) < 0 {
		t.pieces[piece] = append(rings, r)
		return
	}
	if len(rings) > 0 && t.area(rings[0]) > 0 {
		t.strange = true
	}
	t.pieces[piece] = slices.Insert(rings, 0, r)
}

// plain removes the nodes on a straight line that are not positions of the input and that no other ring passes.
func (t *tracer) plain(r ring) ring {
	out := make(ring, 0, len(r))
	for i, node := range r {
		before, after := r[(i+len(r)-1)%len(r)], r[(i+1)%len(r)]
		if t.own[node] || exact.Side(t.Nodes[before], t.Nodes[after], t.Nodes[node]) != 0 || t.borders(node) > 1 {
			out = append(out, node)
		}
	}
	return out
}

// borders counts the rings that pass a node.
func (t *tracer) borders(node int32) int {
	count := 0
	for _, half := range t.Out(node) {
		if t.border(half) {
			count++
		}
	}
	return count
}

// area returns the signed area of a ring in cells. It is positive if the ring runs counterclockwise.
func (t *tracer) area(r ring) float64 { return areaOf(t.Network, r) }

func areaOf(n *noding.Network, r ring) float64 {
	area := 0.0
	for i := 1; i+1 < len(r); i++ {
		area += cross(n.Nodes[r[0]], n.Nodes[r[i]], n.Nodes[r[i+1]])
	}
	return area / 2
}
