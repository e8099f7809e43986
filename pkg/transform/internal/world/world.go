// Package world knows the range of longitude and latitude: what lies beyond ±180 or ±90 degrees, and geometries that cross
// the 180th meridian or surround a pole (RFC 7946 sections 3.1.9 and 5).
package world

import (
	"math"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry"
)

// Slack is how far, in degrees, an ordinate may lie outside of its range: published data has 180.00000000000003, and 1e-9
// degrees are 0.1 mm.
const Slack = 1e-9

// Wrapped returns a longitude, or a difference of two, within ±180.
func Wrapped(lon float64) float64 {
	if math.Abs(lon) <= 180 {
		return lon
	}
	return math.Remainder(lon, 360)
}

// Inside brings a position back whose ordinates lie beyond ±180 or ±90 by rounding.
func Inside(p orb.Point) orb.Point {
	return orb.Point{max(-180, min(180, p[0])), max(-90, min(90, p[1]))}
}

// Clamped moves ordinates that exceed their range by rounding back into it. It reports whether there were any; then the
// shape is a copy.
func Clamped(shape orb.Geometry) (clamped orb.Geometry, changed bool) {
	beyond := false
	geometry.EachLine(shape, func(line []orb.Point) {
		for _, p := range line {
			beyond = beyond || math.Abs(p[0]) > 180 || math.Abs(p[1]) > 90
		}
	})
	if !beyond {
		return shape, false
	}
	return geometry.Moved(shape, Inside), true
}

// FirstOutside returns the first position that is out of range and its index among all positions, or -1.
func FirstOutside(shape orb.Geometry) (bad orb.Point, index int) {
	index = -1
	n := 0
	geometry.EachLine(shape, func(line []orb.Point) {
		for _, p := range line {
			// With this condition NaN is outside.
			inside := math.Abs(p[0]) <= 180+Slack && math.Abs(p[1]) <= 90+Slack
			if !inside && index < 0 {
				bad, index = p, n
			}
			n++
		}
	})
	return bad, index
}

// OnBothSides reports whether a geometry has positions on both sides of the antimeridian, as one that was cut there has.
func OnBothSides(shape orb.Geometry) bool {
	west, east := false, false
	geometry.EachLine(shape, func(line []orb.Point) {
		for _, p := range line {
			west, east = west || p[0] == -180, east || p[0] == 180
		}
	})
	return west && east
}
