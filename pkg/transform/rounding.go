package transform

import (
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry/grid"
)

// rounding rounds copies of shapes.
type rounding struct {
	grid  grid.Grid
	moved bool // whether any ordinate was changed
}

// bbox rounds a bbox. As rounding keeps the order of numbers, the rounded bbox
// is the bbox of the rounded geometry. Heights stay as they are.
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

// points rounds a run of positions.
func (g *rounding) points(points []orb.Point) []orb.Point {
	rounded := make([]orb.Point, len(points))
	for i, p := range points {
		rounded[i] = g.point(p)
	}
	return rounded
}

// polygon rounds a polygon. Its rings share one row of positions.
func (g *rounding) polygon(polygon orb.Polygon) orb.Polygon {
	positions := 0
	for _, ring := range polygon {
		positions += len(ring)
	}
	row := make([]orb.Point, 0, positions)
	rounded := make(orb.Polygon, len(polygon))
	for i, ring := range polygon {
		begin := len(row)
		for _, p := range ring {
			row = append(row, g.point(p))
		}
		rounded[i] = row[begin:len(row):len(row)]
	}
	return rounded
}

// geometry rounds a copy of a shape.
func (g *rounding) geometry(shape orb.Geometry) orb.Geometry {
	switch shape := shape.(type) {
	case orb.Point:
		return g.point(shape)
	case orb.MultiPoint:
		return orb.MultiPoint(g.points(shape))
	case orb.LineString:
		return orb.LineString(g.points(shape))
	case orb.MultiLineString:
		rounded := make(orb.MultiLineString, len(shape))
		for i, line := range shape {
			rounded[i] = g.points(line)
		}
		return rounded
	case orb.Polygon:
		return g.polygon(shape)
	case orb.MultiPolygon:
		rounded := make(orb.MultiPolygon, len(shape))
		for i, polygon := range shape {
			rounded[i] = g.polygon(polygon)
		}
		return rounded
	case orb.Collection:
		rounded := make(orb.Collection, len(shape))
		for i, member := range shape {
			rounded[i] = g.geometry(member)
		}
		return rounded
	}
	return shape
}

// collapse looks for the first part of a shape that rounding leaves nothing of: a
// line or ring with fewer distinct positions than it needs, or a ring without area.
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
		flat := math.Abs(doubledArea(ring)) < 0.5*c.cell*c.cell
		if c.path == "" && (flat && doubledArea(from[i]) != 0 || distinct(ring, 3) < 3 && distinct(from[i], 3) == 3) {
			c.path = path + "/" + decimal(i)
		}
	}
}

// distinct counts the distinct positions, up to enough.
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
