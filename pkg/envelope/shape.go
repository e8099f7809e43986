package envelope

import (
	"strconv"

	"github.com/paulmach/orb"
)

// swap exchanges the ordinates of every position, in place.
func swap(shape orb.Geometry) orb.Geometry {
	switch shape := shape.(type) {
	case orb.Point:
		return orb.Point{shape[1], shape[0]}
	case orb.MultiPoint:
		swapAll(shape)
	case orb.LineString:
		swapAll(shape)
	case orb.MultiLineString:
		for _, line := range shape {
			swapAll(line)
		}
	case orb.Polygon:
		for _, ring := range shape {
			swapAll(ring)
		}
	case orb.MultiPolygon:
		for _, polygon := range shape {
			swap(polygon)
		}
	case orb.Collection:
		for i, member := range shape {
			shape[i] = swap(member)
		}
	}
	return shape
}

func swapAll(points []orb.Point) {
	for i, p := range points {
		points[i] = orb.Point{p[1], p[0]}
	}
}

func decimal(n int) string { return strconv.Itoa(n) }
