package geometry

import (
	"cmp"
	"math"

	"github.com/paulmach/orb"
)

// Geometry is a geometry in the plane, with its heights and its spatial reference ID.
type Geometry struct {
	// Shape is one of orb.Point, orb.MultiPoint, orb.LineString,
	// orb.MultiLineString, orb.Polygon, orb.MultiPolygon, orb.Collection.
	Shape orb.Geometry

	// Z has the third ordinate of every position, in writing order: NaN for a position without one, nil if none has one.
	// An empty point has no position and no entry.
	Z []float64

	// SRID is the spatial reference id of the extended dialects, 0 for none.
	SRID int32
}

// Limits bound the size of one geometry. Zero means the default.
type Limits struct {
	// MaxDepth bounds the nesting of geometry collections. Defaults to 8.
	MaxDepth int

	// MaxPositions bounds the positions. Defaults to 500000.
	MaxPositions int

	// MaxParts bounds the rings, lines, polygons, and members of collections.
	// Defaults to 50000.
	MaxParts int

	// DropMeasures drops the fourth ordinate M. Without it a geometry with measures is refused.
	DropMeasures bool
}

func (l Limits) withDefaults() Limits {
	l.MaxDepth = cmp.Or(l.MaxDepth, 8)
	l.MaxPositions = cmp.Or(l.MaxPositions, 500_000)
	l.MaxParts = cmp.Or(l.MaxParts, 50_000)
	return l
}

// IsEmptyPoint reports whether p stands for POINT EMPTY: both ordinates are NaN.
func IsEmptyPoint(p orb.Point) bool { return math.IsNaN(p[0]) && math.IsNaN(p[1]) }

// EmptyPoint returns the point that represents POINT EMPTY, for which orb has no other form.
func EmptyPoint() orb.Point { return orb.Point{math.NaN(), math.NaN()} }

// Clone returns a copy of a shape. [orb.Clone] returns nil for a shape that is a nil slice, and so loses its type.
func Clone(shape orb.Geometry) orb.Geometry {
	if members, ok := shape.(orb.Collection); ok {
		out := make(orb.Collection, len(members))
		for i, member := range members {
			out[i] = Clone(member)
		}
		return out
	}
	if cloned := orb.Clone(shape); cloned != nil {
		return cloned
	}
	return shape
}

// Moved returns a copy of a shape with every position moved. An empty point has none.
func Moved(shape orb.Geometry, move func(orb.Point) orb.Point) orb.Geometry {
	switch shape := shape.(type) {
	case orb.Point:
		if IsEmptyPoint(shape) {
			return shape
		}
		return move(shape)
	case orb.Collection:
		out := make(orb.Collection, len(shape))
		for i, member := range shape {
			out[i] = Moved(member, move)
		}
		return out
	}
	moved := Clone(shape)
	EachLine(moved, func(line []orb.Point) {
		for i := range line {
			line[i] = move(line[i])
		}
	})
	return moved
}

// Swapped exchanges the two ordinates of a position.
func Swapped(p orb.Point) orb.Point { return orb.Point{p[1], p[0]} }

// EachLine calls visit with every run of positions, in the order in which they are written. An empty point has none.
func EachLine(shape orb.Geometry, visit func([]orb.Point)) {
	switch shape := shape.(type) {
	case orb.Point:
		if !IsEmptyPoint(shape) {
			visit([]orb.Point{shape})
		}
	case orb.MultiPoint:
		visit(shape)
	case orb.LineString:
		visit(shape)
	case orb.MultiLineString:
		for _, line := range shape {
			visit(line)
		}
	case orb.Polygon:
		for _, ring := range shape {
			visit(ring)
		}
	case orb.MultiPolygon:
		for _, polygon := range shape {
			EachLine(polygon, visit)
		}
	case orb.Collection:
		for _, member := range shape {
			EachLine(member, visit)
		}
	}
}

// Positions returns the number of positions of a shape.
func Positions(shape orb.Geometry) int {
	n := 0
	EachLine(shape, func(line []orb.Point) { n += len(line) })
	return n
}

// DoubledArea returns twice the signed area of a closed ring: positive if it runs counterclockwise. It is computed from the
// first position, which keeps small rings far from the origin exact.
func DoubledArea(ring []orb.Point) float64 {
	area := 0.0
	for i := 1; i+1 < len(ring); i++ {
		a, b := ring[i], ring[i+1]
		area += (a[0]-ring[0][0])*(b[1]-ring[0][1]) - (a[1]-ring[0][1])*(b[0]-ring[0][0])
	}
	return area
}

// Bounds returns the south-western and the north-eastern corner of a shape. found is false if it has no position.
func Bounds(shape orb.Geometry) (low, high orb.Point, found bool) {
	EachLine(shape, func(line []orb.Point) {
		for _, p := range line {
			if !found {
				low, high, found = p, p, true
			}
			low = orb.Point{min(low[0], p[0]), min(low[1], p[1])}
			high = orb.Point{max(high[0], p[0]), max(high[1], p[1])}
		}
	})
	return low, high, found
}
