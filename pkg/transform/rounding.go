package transform

import (
	"math"
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

// collapse finds the first part of a shape of which rounding leaves nothing: a line or ring with fewer distinct
// positions than it needs, or a ring without area.
type collapse struct {
	cell float64 // of the grid
	path string
}

func (c *collapse) shape(from, rounded orb.Geometry, path string) {
	at := path + "/coordinates"
	switch from := from.(type) {
	case orb.LineString:
		c.line(from, rounded.(orb.LineString), at)
	case orb.MultiLineString:
		for i, line := range from {
			c.line(line, rounded.(orb.MultiLineString)[i], at+"/"+decimal(i))
		}
	case orb.Polygon:
		c.polygon(from, rounded.(orb.Polygon), at)
	case orb.MultiPolygon:
		for i, polygon := range from {
			c.polygon(polygon, rounded.(orb.MultiPolygon)[i], at+"/"+decimal(i))
		}
	case orb.Collection:
		for i, member := range from {
			c.shape(member, rounded.(orb.Collection)[i], path+"/geometries/"+decimal(i))
		}
	}
}

func (c *collapse) line(from, rounded []orb.Point, path string) {
	if c.path == "" && distinct(rounded, 2) < 2 && distinct(from, 2) == 2 {
		c.path = path
	}
}

func (c *collapse) polygon(from, rounded orb.Polygon, path string) {
	for i, ring := range rounded {
		// The doubled area of a ring on the grid is a multiple of a grid cell.
		flat := math.Abs(geometry.DoubledArea(ring)) < 0.5*c.cell*c.cell
		if c.path == "" && (flat && geometry.DoubledArea(from[i]) != 0 || distinct(ring, 3) < 3 && distinct(from[i], 3) == 3) {
			c.path = path + "/" + decimal(i)
		}
	}
}

// distinct counts the distinct positions, at most up to enough.
func distinct(points []orb.Point, enough int) int {
	var seen [3]orb.Point
	n := 0
	for _, p := range points {
		if n < enough && !slices.Contains(seen[:n], p) {
			seen[n] = p
			n++
		}
	}
	return n
}
