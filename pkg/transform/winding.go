package transform

import (
	"slices"

	"github.com/paulmach/orb"
)

// RFC 7946 section 3.1.6 wants exterior rings counter-clockwise and holes
// clockwise. Nearly all published data has it the other way round, so winding
// is fixed and never a reason to refuse.

// side is positive when p lies left of the way from a to b, negative when it
// lies right of it.
func side(a, b, p orb.Point) float64 {
	return (b[0]-a[0])*(p[1]-a[1]) - (b[1]-a[1])*(p[0]-a[0])
}

// doubledArea returns twice the signed area of a closed ring: positive when it
// runs counter-clockwise. It is taken from the first position, which keeps small
// rings far from the origin exact.
func doubledArea(ring orb.Ring) float64 {
	area := 0.0
	for i := 1; i+1 < len(ring); i++ {
		area += side(ring[0], ring[i], ring[i+1])
	}
	return area
}

// runsWrong reports whether a ring has to be turned round. One without area
// stays as it is.
func runsWrong(ring orb.Ring, hole bool) bool {
	area := doubledArea(ring)
	if hole {
		return area > 0
	}
	return area < 0
}

// needsWinding reports whether any ring of a shape has to be turned round.
func needsWinding(shape orb.Geometry) bool {
	switch shape := shape.(type) {
	case orb.Polygon:
		for i, ring := range shape {
			if runsWrong(ring, i > 0) {
				return true
			}
		}
	case orb.MultiPolygon:
		return slices.ContainsFunc(shape, func(polygon orb.Polygon) bool { return needsWinding(polygon) })
	case orb.Collection:
		return slices.ContainsFunc(shape, needsWinding)
	}
	return false
}

// wind returns a copy of a geometry with its rings the right way round, heights
// included. The starting position of each ring stays. Heights that do not
// belong to the positions, which no decoder makes, are left for [Transformer.Encode]
// to refuse.
func wind(g Geometry) Geometry {
	if g.Z != nil && len(g.Z) != g.Positions() {
		return g
	}
	z := slices.Clone(g.Z)
	shape, _ := windShape(g.Shape, z)
	return Geometry{Shape: shape, Z: z}
}

// windShape turns the rings of a copy of shape. z holds the heights from the
// shape's first position on and is turned in place; what lies behind the shape
// is returned.
func windShape(shape orb.Geometry, z []float64) (orb.Geometry, []float64) {
	switch shape := shape.(type) {
	case orb.Polygon:
		return windPolygon(shape, z)
	case orb.MultiPolygon:
		wound := make(orb.MultiPolygon, len(shape))
		for i, polygon := range shape {
			wound[i], z = windPolygon(polygon, z)
		}
		return wound, z
	case orb.Collection:
		wound := make(orb.Collection, len(shape))
		for i, member := range shape {
			wound[i], z = windShape(member, z)
		}
		return wound, z
	}
	return shape, skipHeights(z, Geometry{Shape: shape}.Positions())
}

func windPolygon(polygon orb.Polygon, z []float64) (orb.Polygon, []float64) {
	wound := make(orb.Polygon, len(polygon))
	for i, ring := range polygon {
		wound[i] = ring
		if runsWrong(ring, i > 0) {
			wound[i] = slices.Clone(ring)
			slices.Reverse(wound[i])
			if z != nil {
				slices.Reverse(z[:len(ring)])
			}
		}
		z = skipHeights(z, len(ring))
	}
	return wound, z
}

// skipHeights passes over the heights of n positions.
func skipHeights(z []float64, n int) []float64 {
	if z == nil {
		return nil
	}
	return z[n:]
}
