package noding

import (
	"math"
	"slices"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry/exact"
	"github.com/switchback-geo/switchback/pkg/geometry/sweep"
)

// fanout is the number of pixels, or boxes, in a box of the index.
const fanout = 16

// box is an extent.
type box struct{ west, south, east, north float64 }

// pixels is an index of the hot cells. It packs cells into boxes, these into larger boxes, and so on.
type pixels struct {
	at     []orb.Point // centres, in the order of the sweep
	order  []int32     // their numbers, in the order of the index
	levels [][]box     // boxes of fanout pixels, then of fanout boxes of the level before
}

// newPixels indexes distinct centres, given in the order of the sweep. It cuts them into vertical strips and sorts each
// strip from south to north.
func newPixels(at []orb.Point) *pixels {
	p := &pixels{at: at, order: make([]int32, len(at))}
	for i := range p.order {
		p.order[i] = int32(i)
	}
	strips := int(math.Ceil(math.Sqrt(float64(len(at)) / fanout)))
	if strips > 1 {
		wide := (len(at)/strips/fanout + 1) * fanout
		for strip := range slices.Chunk(p.order, wide) {
			slices.SortFunc(strip, func(i, j int32) int {
				if at[i][1] != at[j][1] {
					return int(math.Copysign(1, at[i][1]-at[j][1]))
				}
				return int(i - j)
			})
		}
	}
	var boxes []box
	for chunk := range slices.Chunk(p.order, fanout) {
		b := box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
		for _, i := range chunk {
			b = b.around(box{at[i][0], at[i][1], at[i][0], at[i][1]})
		}
		boxes = append(boxes, b)
	}
	for p.levels = append(p.levels, boxes); len(boxes) > fanout; p.levels = append(p.levels, boxes) {
		lower := boxes
		boxes = nil
		for chunk := range slices.Chunk(lower, fanout) {
			b := chunk[0]
			for _, other := range chunk[1:] {
				b = b.around(other)
			}
			boxes = append(boxes, b)
		}
	}
	return p
}

func (b box) around(o box) box {
	return box{min(b.west, o.west), min(b.south, o.south), max(b.east, o.east), max(b.north, o.north)}
}

// search is the search along one segment. The ends of the segment are in units of which a cell has step.
type search struct {
	pixels *pixels
	a, b   orb.Point
	step   float64
	budget *budget
	found  []int32
}

// passed appends the numbers of the cells that a segment passes, in the order along the segment.
func (p *pixels) passed(found []int32, a, b orb.Point, step float64, budget *budget) ([]int32, error) {
	base := len(found)
	s := search{pixels: p, a: a, b: b, step: step, budget: budget, found: found}
	top := len(p.levels) - 1
	for i := range p.levels[top] {
		s.look(top, i)
	}
	if budget.visits < 0 {
		return found, ErrCrossings
	}
	// A line passes the cells of a grid in the order of both of their ordinates.
	slices.SortFunc(s.found[base:], func(i, j int32) int {
		c, d := p.at[i], p.at[j]
		if a[1] > b[1] {
			c[1], d[1] = -c[1], -d[1]
		}
		return sweep.Compare(c, d)
	})
	return s.found, nil
}

// look searches a box.
func (s *search) look(level, i int) {
	if s.budget.visits--; s.budget.visits < 0 || !s.near(s.pixels.levels[level][i]) {
		return
	}
	begin := i * fanout
	if level > 0 {
		for j := begin; j < min(begin+fanout, len(s.pixels.levels[level-1])); j++ {
			s.look(level-1, j)
		}
		return
	}
	for _, pixel := range s.pixels.order[begin:min(begin+fanout, len(s.pixels.order))] {
		at := s.pixels.at[pixel]
		if touches(orb.Point{at[0] * s.step, at[1] * s.step}, s.step/2, s.a, s.b) {
			s.found = append(s.found, pixel)
		}
	}
}

// near reports whether the segment can pass a cell of a box. False is certain, true is not.
func (s *search) near(b box) bool {
	half := s.step / 2
	west, east, south, north := b.west*s.step-half, b.east*s.step+half, b.south*s.step-half, b.north*s.step+half
	if s.b[0] < west || s.a[0] > east || max(s.a[1], s.b[1]) < south || min(s.a[1], s.b[1]) > north {
		return false
	}
	dx, dy := s.b[0]-s.a[0], s.b[1]-s.a[1]
	reach := math.Abs(dx)*(north-south)/2 + math.Abs(dy)*(east-west)/2
	x, y := (west+east)/2-s.a[0], (south+north)/2-s.a[1]
	distance := math.Abs(dx*y - dy*x)
	return distance <= reach+1e-12*(math.Abs(dx*y)+math.Abs(dy*x))
}

// touches reports whether the segment from a to b, west to east, meets the cell around c. The western and the southern
// side belong to the cell, the others to its neighbours.
func touches(c orb.Point, half float64, a, b orb.Point) bool {
	west, east, south, north := c[0]-half, c[0]+half, c[1]-half, c[1]+half
	switch {
	case b[0] < west || a[0] >= east || max(a[1], b[1]) < south || min(a[1], b[1]) >= north:
		return false
	case a[0] == b[0] || a[1] == b[1]:
		return true
	case a[1] < b[1]:
		return exact.Side(a, b, orb.Point{west, north}) > 0 && exact.Side(a, b, orb.Point{east, south}) < 0
	}
	return exact.Side(a, b, orb.Point{east, north}) > 0 && exact.Side(a, b, orb.Point{west, south}) <= 0
}
