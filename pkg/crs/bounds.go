package crs

import (
	"fmt"
	"math"
)

// Bounds are a box. X is longitude or easting and Y latitude or northing, in
// degrees or metres, whatever the axis order of a CRS is. A box of longitudes
// whose MinX is greater than its MaxX crosses the antimeridian (RFC 7946, section
// 5.2).
type Bounds struct{ MinX, MinY, MaxX, MaxY float64 }

// Contains reports whether a point lies in the box or on its edge.
func (b Bounds) Contains(x, y float64) bool {
	if b.MinX > b.MaxX {
		return (x >= b.MinX || x <= b.MaxX) && y >= b.MinY && y <= b.MaxY
	}
	return x >= b.MinX && x <= b.MaxX && y >= b.MinY && y <= b.MaxY
}

// lonLat writes the box of an area of longitudes and latitudes.
func (b Bounds) lonLat() string {
	return fmt.Sprintf("longitude %g to %g, latitude %g to %g", b.MinX, b.MaxX, b.MinY, b.MaxY)
}

// metresPerDegree is the length of a degree of latitude, to 1 %.
const metresPerDegree = 111320.

func radians(degrees float64) float64 { return degrees * (math.Pi / 180) }

func degrees(radians float64) float64 { return radians * (180 / math.Pi) }

// wrap brings a difference of two longitudes, or a longitude that has come round
// once, to [-180, 180].
func wrap(degrees float64) float64 {
	switch {
	case degrees > 180:
		return degrees - 360
	case degrees < -180:
		return degrees + 360
	}
	return degrees
}

// finite reports whether both are numbers and finite.
func finite(x, y float64) bool {
	return math.Abs(x) <= math.MaxFloat64 && math.Abs(y) <= math.MaxFloat64
}
