package transform

import (
	"slices"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/geometry/grid"
)

// rounding rounds copies of shapes.
type rounding struct {
	grid  grid.Grid
	moved bool // an ordinate was changed
}

// bbox rounds a bbox. Rounding keeps the order of numbers, so the rounded bbox is the bbox of the rounded geometry.
// Heights stay as they are.
func (g *rounding) bbox(bbox []float64) []float64 {
	rounded := slices.Clone(bbox)
	for i := range rounded {
		if len(rounded) == 4 || i%3 != 2 {
			rounded[i] = g.grid.Round(rounded[i])
		}
	}
	return rounded
}

func (g *rounding) point(p orb.Point) orb.Point {
	rounded := orb.Point{g.grid.Round(p[0]), g.grid.Round(p[1])}
	g.moved = g.moved || rounded != p
	return rounded
}

// geometry rounds a copy of a shape.
func (g *rounding) geometry(shape orb.Geometry) orb.Geometry { return geometry.Moved(shape, g.point) }
