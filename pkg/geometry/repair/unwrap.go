package repair

import (
	"math"

	"github.com/paulmach/orb"
)

// Unwrapped returns a shape whose longitudes continue beyond ±180 degrees instead of jumping, so that it can be judged
// in the plane. Each hole lies where its exterior does. A polygon with a ring around a pole, which does not close there,
// becomes an empty one: [Result.Unsure] judges it.
func Unwrapped(shape orb.Geometry) orb.Geometry {
	switch shape := shape.(type) {
	case orb.LineString:
		return orb.LineString(unwrapped(shape, false))
	case orb.MultiLineString:
		out := make(orb.MultiLineString, len(shape))
		for i, line := range shape {
			out[i] = unwrapped(line, false)
		}
		return out
	case orb.Polygon:
		return unwrappedPolygon(shape)
	case orb.MultiPolygon:
		out := make(orb.MultiPolygon, len(shape))
		for i, polygon := range shape {
			out[i] = unwrappedPolygon(polygon)
		}
		return out
	case orb.Collection:
		out := make(orb.Collection, len(shape))
		for i, member := range shape {
			out[i] = Unwrapped(member)
		}
		return out
	}
	return shape
}

// unwrapped returns a copy of a line or ring that does not jump.
func unwrapped(line []orb.Point, closed bool) []orb.Point {
	out := make([]orb.Point, len(line))
	turn := 0.0
	meant := read(line, closed)
	for i, p := range line {
		if i > 0 && meant.over(i) {
			turn -= math.Copysign(360, p[0]-line[i-1][0])
		}
		out[i] = orb.Point{p[0] + turn, p[1]}
	}
	return out
}

func unwrappedPolygon(polygon orb.Polygon) orb.Polygon {
	if !crossesPolygon(polygon) {
		return polygon
	}
	out := make(orb.Polygon, len(polygon))
	var frame orb.Bound
	for i, ring := range polygon {
		out[i] = unwrapped(ring, true)
		if n := len(ring); n > 0 && out[i][0] != out[i][n-1] {
			return orb.Polygon{}
		}
		if i == 0 {
			frame = out[0].Bound()
			continue
		}
		if turn := turnInto(frame, out[i].Bound()); turn != 0 {
			for j := range out[i] {
				out[i][j][0] += turn
			}
		}
	}
	return out
}

// turnInto returns the number of whole turns by which a hole must be shifted to lie in its exterior's frame, or as near
// to its centre as possible.
func turnInto(frame, hole orb.Bound) float64 {
	near := 360 * math.Round((frame.Center()[0]-hole.Center()[0])/360)
	for _, turn := range [...]float64{near, near - 360, near + 360} {
		if frame.Min[0] <= hole.Min[0]+turn && hole.Max[0]+turn <= frame.Max[0] {
			return turn
		}
	}
	return near
}
