package validity

import (
	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry/exact"
)

// maxPlain is the number of edges up to which a ring is compared edge by edge; beyond it the sweep is faster.
const maxPlain = 40

// box is the extent of an edge.
type box struct{ west, east, south, north float64 }

// plain reports whether a closed ring of few positions is certainly valid on its own: no edge has length zero, none runs
// back on the previous one, and no others meet. If it is not certain, it returns false, and the sweep decides and
// reports the fault.
func plain(ring orb.Ring) bool {
	n := len(ring) - 1
	if n < 3 || n > maxPlain {
		return false
	}
	var boxes [maxPlain]box
	for i := range n {
		boxes[i] = boxOf(ring[i], ring[i+1])
	}
	for i := range n {
		a, b, next := ring[i], ring[i+1], ring[1]
		if i+2 <= n {
			next = ring[i+2]
		}
		if a == b || exact.Side(a, b, next) == 0 && !straightOn(a, b, next) {
			return false
		}
		last := n
		if i == 0 {
			last = n - 1 // the last edge is its neighbour
		}
		for j := i + 2; j < last; j++ {
			p, q := &boxes[i], &boxes[j]
			if q.east < p.west || p.east < q.west || q.north < p.south || p.north < q.south {
				continue
			}
			if c, d := ring[j], ring[j+1]; exact.Side(a, b, c)*exact.Side(a, b, d) <= 0 && exact.Side(c, d, a)*exact.Side(c, d, b) <= 0 {
				return false
			}
		}
	}
	return true
}

// boxOf returns the extent of an edge.
func boxOf(a, b orb.Point) box {
	out := box{a[0], b[0], a[1], b[1]}
	if b[0] < a[0] {
		out.west, out.east = b[0], a[0]
	}
	if b[1] < a[1] {
		out.south, out.north = b[1], a[1]
	}
	return out
}

// straightOn reports whether the way from a over b to c, which is one line, does
// not turn back at b.
func straightOn(a, b, c orb.Point) bool {
	axis := 0
	if a[0] == b[0] {
		axis = 1
	}
	return a[axis] < b[axis] == (b[axis] < c[axis]) && b != c
}
