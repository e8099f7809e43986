package shapes

import (
	"math"
	"slices"
	"strconv"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry"
)

// Collapsed returns the JSON pointer, below a shape, of the first part of which rounding leaves nothing: a line or ring
// with fewer distinct positions than it needs, or a ring without area. It returns "" if there is none. cell is the width of
// a cell of the grid.
func Collapsed(from, rounded orb.Geometry, cell float64) string {
	c := collapse{cell: cell}
	c.shape(from, rounded, "")
	return c.path
}

// collapse searches for a part of which nothing is left.
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
			c.line(line, rounded.(orb.MultiLineString)[i], at+"/"+strconv.Itoa(i))
		}
	case orb.Polygon:
		c.polygon(from, rounded.(orb.Polygon), at)
	case orb.MultiPolygon:
		for i, polygon := range from {
			c.polygon(polygon, rounded.(orb.MultiPolygon)[i], at+"/"+strconv.Itoa(i))
		}
	case orb.Collection:
		for i, member := range from {
			c.shape(member, rounded.(orb.Collection)[i], path+"/geometries/"+strconv.Itoa(i))
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
			c.path = path + "/" + strconv.Itoa(i)
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
