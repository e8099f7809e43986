package repair

import (
	"math"

	"github.com/paulmach/orb"
)

// The edges of a geometry in degrees go the short way: an edge whose ends are more than 180 degrees of longitude apart
// crosses the 180th meridian. An edge from exactly one side of it to the other has no length, except between two that
// run along the meridian: it may go around the whole world, as in geometries that were cut there.

// reading is a line or ring and the meaning of its edges.
type reading struct {
	line   []orb.Point
	closed bool
	jumps  bool // whether edges from one side to the other are none even between two on the meridian
}

// read determines the meaning of the edges of a line or ring. If an edge from one side of the meridian to the other lies
// between two on it, both meanings are possible. read chooses the smaller of the two areas of the ring that is not zero.
func read(line []orb.Point, closed bool) reading {
	r := reading{line: line, closed: closed}
	for i := 1; closed && i < len(line); i++ {
		if r.around(i) {
			jump := reading{line: line, closed: closed, jumps: true}
			if area := jump.area(); area > 0 && area < r.area() {
				return jump
			}
			break
		}
	}
	return r
}

// over reports whether the edge that ends at position i crosses the meridian.
func (r reading) over(i int) bool {
	switch way := math.Abs(r.line[i][0] - r.line[i-1][0]); {
	case way <= 180 || alongPole(r.line[i-1], r.line[i]):
		return false
	case way < 360:
		return true
	}
	return r.jumps || !r.around(i)
}

// around reports whether the edge that ends at position i goes from one side of the
// meridian to the other, between two edges on it.
func (r reading) around(i int) bool {
	return math.Abs(r.line[i][0]-r.line[i-1][0]) == 360 && !alongPole(r.line[i-1], r.line[i]) &&
		besideSeam(r.line, i-1, -1, r.closed) && besideSeam(r.line, i, 1, r.closed)
}

// area returns the area of a ring in square degrees; for a ring around a pole, the area up to the pole.
func (r reading) area() float64 {
	east, area, first := 0.0, 0.0, r.line[0][1]
	for i := 1; i < len(r.line); i++ {
		p, q := r.line[i-1], r.line[i]
		way := q[0] - p[0]
		if r.over(i) {
			way -= math.Copysign(360, way)
		}
		east += way
		area += way * ((p[1]-first)/2 + (q[1]-first)/2)
	}
	east = 360 * math.Round(east/360)
	return min(math.Abs(east*(90-first)-area), math.Abs(east*(-90-first)-area))
}

// alongPole reports whether an edge lies in a pole. It has no length and crosses nothing; the edges that meet it tell
// which way it goes around.
func alongPole(p, q orb.Point) bool { return math.Abs(p[1]) == 90 && p[1] == q[1] }

// besideSeam reports whether the next other position before or after one also lies on the meridian. There is none beyond
// the end of a line.
func besideSeam(line []orb.Point, i, step int, closed bool) bool {
	n := len(line)
	if closed {
		n-- // the last one repeats the first
	}
	for k := 1; k < n; k++ {
		j := i + k*step
		if closed {
			j = ((j % n) + n) % n
		} else if j < 0 || j >= n {
			return false
		}
		if line[j] != line[i] {
			return math.Abs(line[j][0]) >= 180
		}
	}
	return false
}
