package shapes

import (
	"slices"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry"
)

// RFC 7946 section 3.1.6 asks for counterclockwise exterior rings and clockwise holes. Almost all published data is
// wound the other way, so winding is corrected and is never a reason to refuse.

// runsWrong reports whether a ring must be reversed. A ring without area stays as it is.
func runsWrong(ring orb.Ring, hole bool) bool {
	area := geometry.DoubledArea(ring)
	if hole {
		return area > 0
	}
	return area < 0
}

// eachRing calls visit with every ring of a shape. hole reports whether the ring is a hole. before is the number of
// positions before the ring, counted from the given number. eachRing returns this number for the end of the shape.
func eachRing(shape orb.Geometry, before int, visit func(ring orb.Ring, hole bool, before int)) (after int) {
	switch shape := shape.(type) {
	case orb.Polygon:
		for i, ring := range shape {
			visit(ring, i > 0, before)
			before += len(ring)
		}
	case orb.MultiPolygon:
		for _, polygon := range shape {
			before = eachRing(polygon, before, visit)
		}
	case orb.Collection:
		for _, member := range shape {
			before = eachRing(member, before, visit)
		}
	default:
		before += geometry.Positions(shape)
	}
	return before
}

// NeedsWinding reports whether any ring of a shape must be reversed.
func NeedsWinding(shape orb.Geometry) (needs bool) {
	eachRing(shape, 0, func(ring orb.Ring, hole bool, _ int) { needs = needs || runsWrong(ring, hole) })
	return needs
}

// Wind returns a copy of a shape with its rings the right way, and its heights with them. Each ring keeps its starting
// position. No decoder creates heights that do not match the positions; then Wind returns the shape unchanged.
func Wind(shape orb.Geometry, heights []float64) (orb.Geometry, []float64) {
	if heights != nil && len(heights) != geometry.Positions(shape) {
		return shape, heights
	}
	shape, heights = geometry.Clone(shape), slices.Clone(heights)
	eachRing(shape, 0, func(ring orb.Ring, hole bool, before int) {
		if !runsWrong(ring, hole) {
			return
		}
		slices.Reverse(ring)
		if heights != nil {
			slices.Reverse(heights[before : before+len(ring)])
		}
	})
	return shape, heights
}
