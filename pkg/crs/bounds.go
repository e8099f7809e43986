package crs

import (
	"fmt"
	"math"
)

// Bounds is a box in degrees or metres. X is longitude or easting and Y is latitude or northing, whatever the axis order
// of a CRS. If MinX of a box of longitudes is greater than MaxX, the box crosses the antimeridian (RFC 7946, section
// 5.2).
type Bounds struct{ MinX, MinY, MaxX, MaxY float64 }

// Contains reports whether a point lies in the box or on its edge.
func (b Bounds) Contains(x, y float64) bool {
	if b.MinX > b.MaxX {
		return (x >= b.MinX || x <= b.MaxX) && y >= b.MinY && y <= b.MaxY
	}
	return x >= b.MinX && x <= b.MaxX && y >= b.MinY && y <= b.MaxY
}

// lonLat formats a box of longitudes and latitudes.
func (b Bounds) lonLat() string {
	return fmt.Sprintf("longitude %g to %g, latitude %g to %g", b.MinX, b.MaxX, b.MinY, b.MaxY)
}

// metresPerDegree is the length of a degree of latitude, to 1 %.
const metresPerDegree = 111320.

func radians(degrees float64) float64 { return degrees * (math.Pi / 180) }

func degrees(radians float64) float64 { return radians * (180 / math.Pi) }

// wrap brings a longitude of at most one turn too much, or a difference of two longitudes, to [-180, 180].
func wrap(degrees float64) float64 {
	switch {
	case degrees > 180:
		return degrees - 360
	case degrees < -180:
		return degrees + 360
	}
	return degrees
}

// finite reports whether both values are finite numbers.
func finite(x, y float64) bool {
	return math.Abs(x) <= math.MaxFloat64 && math.Abs(y) <= math.MaxFloat64
}
