package shapes

import (
	"slices"
	"strconv"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry"
)

// PositionPath returns the JSON pointer, below a shape, of the position with an index among all positions.
func PositionPath(shape orb.Geometry, index int) string {
	switch shape := shape.(type) {
	case orb.MultiPoint:
		return "/coordinates/" + strconv.Itoa(index)
	case orb.LineString:
		return "/coordinates/" + strconv.Itoa(index)
	case orb.MultiLineString:
		i, j := locateLine(shape, index)
		return "/coordinates/" + strconv.Itoa(i) + "/" + strconv.Itoa(j)
	case orb.Polygon:
		i, j := locateLine(shape, index)
		return "/coordinates/" + strconv.Itoa(i) + "/" + strconv.Itoa(j)
	case orb.MultiPolygon:
		for i, polygon := range shape {
			if n := geometry.Positions(polygon); index >= n {
				index -= n
				continue
			}
			ring, j := locateLine(polygon, index)
			return "/coordinates/" + strconv.Itoa(i) + "/" + strconv.Itoa(ring) + "/" + strconv.Itoa(j)
		}
	case orb.Collection:
		for i, member := range shape {
			n := geometry.Positions(member)
			if index < n {
				return "/geometries/" + strconv.Itoa(i) + PositionPath(member, index)
			}
			index -= n
		}
	}
	return "/coordinates"
}

// locateLine converts an index among all positions to a line and an index in it.
func locateLine[L ~[]orb.Point](lines []L, index int) (line, place int) {
	for i, l := range lines {
		if index < len(l) {
			return i, index
		}
		index -= len(l)
	}
	return len(lines), index
}

// EmptyPart returns the JSON pointer, below a shape, of the first member without a position, or "".
func EmptyPart(shape orb.Geometry) string {
	switch shape := shape.(type) {
	case orb.MultiLineString:
		if i := slices.IndexFunc(shape, func(line orb.LineString) bool { return len(line) == 0 }); i >= 0 {
			return "/coordinates/" + strconv.Itoa(i)
		}
	case orb.MultiPolygon:
		if i := slices.IndexFunc(shape, func(polygon orb.Polygon) bool { return len(polygon) == 0 }); i >= 0 {
			return "/coordinates/" + strconv.Itoa(i)
		}
	case orb.Collection:
		for i, member := range shape {
			path := "/geometries/" + strconv.Itoa(i)
			if geometry.Positions(member) == 0 {
				return path
			}
			if below := EmptyPart(member); below != "" {
				return path + below
			}
		}
	}
	return ""
}
