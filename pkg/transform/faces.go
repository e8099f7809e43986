package transform

import (
	"cmp"
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// evenOdd returns the polygons of the places that an odd number of rings of a
// polygon surround. It is false when the arithmetic does not allow it; what it
// returns must still be asked for validity.
func evenOdd(polygon orb.Polygon) ([]orb.Polygon, bool) {
	edges, ok := oddEdges(polygon)
	if !ok {
		return nil, false
	}
	n := newNetwork(edges)
	if !n.color() {
		return nil, false
	}
	return n.polygons()
}

// arc is a directed edge.
type arc struct{ from, to orb.Point }

// network are edges that meet at their ends only, an even number at each point.
// They bound an area: one side of each is inside.
type network struct {
	edges      []edge
	neighbours map[orb.Point][]orb.Point // counter-clockwise, from west by south
	points     []orb.Point               // in order
	inside     map[arc]bool              // whether the left side is inside
}

func newNetwork(edges []edge) *network {
	n := &network{edges: edges, neighbours: map[orb.Point][]orb.Point{}, inside: make(map[arc]bool, 2*len(edges))}
	for _, e := range edges {
		n.neighbours[e.a] = append(n.neighbours[e.a], e.b)
		n.neighbours[e.b] = append(n.neighbours[e.b], e.a)
	}
	for p, around := range n.neighbours {
		n.points = append(n.points, p)
		slices.SortFunc(around, func(q, r orb.Point) int { return cmp.Compare(direction(p, q), direction(p, r)) })
	}
	slices.SortFunc(n.points, comparePoints)
	return n
}

// direction is the angle of the way from p to q, from -π (west) counter-clockwise.
func direction(p, q orb.Point) float64 {
	angle := math.Atan2(q[1]-p[1], q[0]-p[0])
	if angle == math.Pi {
		return -math.Pi
	}
	return angle
}

// color finds out on which side of each edge the inside is: at the westernmost
// point of each connected part by counting the edges to its west, and from there
// on by turns, as every edge changes sides.
func (n *network) color() bool {
	budget := maxPairs
	for _, p := range n.points { // from west to east: the first of each part is its westernmost
		if _, known := n.inside[arc{p, n.neighbours[p][0]}]; known {
			continue
		}
		if budget -= len(n.edges); budget < 0 {
			return false
		}
		open := []orb.Point{p}
		n.around(p, 0, n.crossingsWest(p)%2 == 0)
		for len(open) > 0 {
			at := open[len(open)-1]
			open = open[:len(open)-1]
			for _, next := range n.neighbours[at] {
				if _, known := n.inside[arc{next, at}]; known {
					continue
				}
				// Left of the way back is right of the way there.
				n.around(next, slices.Index(n.neighbours[next], at), !n.inside[arc{at, next}])
				open = append(open, next)
			}
		}
	}
	return true
}

// around sets the sides of the edges at p, by turns; first is that of the edge
// with number i.
func (n *network) around(p orb.Point, i int, first bool) {
	around := n.neighbours[p]
	for k := range around {
		n.inside[arc{p, around[(i+k)%len(around)]}] = first == (k%2 == 0)
	}
}

// crossingsWest counts the edges that a ray from p to the west crosses, which
// passes a hair north of p.
func (n *network) crossingsWest(p orb.Point) int {
	count := 0
	for _, e := range n.edges {
		if x, crosses := crossesLevel(e, p); crosses && x < p[0] {
			count++
		}
	}
	return count
}

// crossesLevel returns where an edge crosses the level of p, a hair north of it.
// An edge that ends at p itself is not asked.
func crossesLevel(e edge, p orb.Point) (x float64, crosses bool) {
	if e.a == p || e.b == p || (e.a[1] > p[1]) == (e.b[1] > p[1]) {
		return 0, false
	}
	return e.a[0] + (p[1]-e.a[1])/(e.b[1]-e.a[1])*(e.b[0]-e.a[0]), true
}

// polygons lays rings around the inside.
func (n *network) polygons() ([]orb.Polygon, bool) {
	w := walks{network: n, face: make(map[arc]int, len(n.edges))}
	for _, p := range n.points {
		for _, q := range n.neighbours[p] {
			if _, walked := w.face[arc{p, q}]; !walked && n.inside[arc{p, q}] {
				w.walk(arc{p, q})
			}
		}
	}
	return w.assemble()
}

// walks are the ways around the inside, which is always to their left.
type walks struct {
	*network
	face  map[arc]int // number of the walk that an arc belongs to
	rings [][]orb.Ring
}

// walk goes around one side of the inside, beginning with an arc, and cuts the
// way into rings where it comes to a point twice.
func (w *walks) walk(first arc) {
	number := len(w.rings)
	var rings []orb.Ring
	way := orb.Ring{first.from}
	place := map[orb.Point]int{first.from: 0}
	for at := first; ; {
		w.face[at] = number
		if i, seen := place[at.to]; seen {
			ring := append(slices.Clone(way[i:]), at.to)
			rings = append(rings, ring)
			for _, p := range way[i+1:] {
				delete(place, p)
			}
			way = way[:i+1]
		} else {
			place[at.to] = len(way)
			way = append(way, at.to)
		}
		around := w.neighbours[at.to]
		back := slices.Index(around, at.from)
		at = arc{at.to, around[(back+len(around)-1)%len(around)]}
		if at == first {
			break
		}
	}
	w.rings = append(w.rings, rings)
}

// assemble puts each hole into the polygon around it. It is false when the rings
// do not fit, which only arithmetic at its limits can bring about.
func (w *walks) assemble() ([]orb.Polygon, bool) {
	polygons := make([]orb.Polygon, len(w.rings))
	type island struct {
		west  orb.Point
		rings []orb.Ring
		walk  int
	}
	var islands []island
	owner := make([]int, len(w.rings))
	for i, rings := range w.rings {
		owner[i] = i
		exteriors := 0
		for _, ring := range rings {
			if doubledArea(ring) > 0 {
				exteriors++
				polygons[i] = append(orb.Polygon{ring}, polygons[i]...)
			} else {
				polygons[i] = append(polygons[i], ring)
			}
		}
		switch {
		case exteriors > 1:
			return nil, false
		case exteriors == 0:
			islands = append(islands, island{slices.MinFunc(slices.Concat(rings...), comparePoints), rings, i})
			polygons[i] = nil
		}
	}
	slices.SortFunc(islands, func(a, b island) int { return comparePoints(a.west, b.west) })
	budget := maxPairs
	for _, hole := range islands {
		if budget -= len(w.edges); budget < 0 {
			return nil, false
		}
		around, found := w.westOf(hole.west)
		if !found || polygons[owner[around]] == nil {
			return nil, false
		}
		owner[hole.walk] = owner[around]
		polygons[owner[around]] = append(polygons[owner[around]], hole.rings...)
	}
	return slices.DeleteFunc(polygons, func(polygon orb.Polygon) bool { return polygon == nil }), true
}

// westOf returns the walk of the edge that a ray from p to the west, a hair north
// of p, meets first.
func (w *walks) westOf(p orb.Point) (walk int, found bool) {
	best, lean := math.Inf(-1), 0.0
	var nearest edge
	for _, e := range w.edges {
		x, crosses := crossesLevel(e, p)
		if !crosses || x >= p[0] || x < best {
			continue
		}
		if slope := (e.b[0] - e.a[0]) / (e.b[1] - e.a[1]); x > best || slope > lean {
			best, lean, nearest, found = x, slope, e, true
		}
	}
	for _, candidate := range [...]arc{{nearest.a, nearest.b}, {nearest.b, nearest.a}} {
		if number, walked := w.face[candidate]; walked && found {
			return number, true
		}
	}
	return 0, false
}
