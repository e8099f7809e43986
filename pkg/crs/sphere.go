package crs

import "math"

// gaussSphere is the conformal map of an ellipsoid to a sphere that keeps the scale of one parallel to the second order
// (Gauss). It is the first half of the oblique projections of national grids. It multiplies longitudes by alpha, and
// isometric latitudes become alpha·ψ + shift.
type gaussSphere struct {
	ellipsoid

	geodetic     series
	alpha, shift float64
	radius       float64 // of the sphere
	lat0         float64 // of the parallel, on the sphere
}

// newGaussSphere returns the map for the parallel at a latitude in radians.
func newGaussSphere(l ellipsoid, lat float64) gaussSphere {
	sin, cos := math.Sincos(lat)
	alpha := math.Sqrt(1 + l.e2/(1-l.e2)*cos*cos*cos*cos)
	lat0 := math.Asin(sin / alpha)
	return gaussSphere{
		ellipsoid: l, geodetic: geodeticFromConformal(l.n), alpha: alpha,
		shift:  math.Asinh(math.Tan(lat0)) - alpha*l.isometric(lat),
		radius: l.a * math.Sqrt(1-l.e2) / (1 - l.e2*sin*sin),
		lat0:   lat0,
	}
}

// tangent returns the tangent of the latitude on the sphere.
func (s *gaussSphere) tangent(lat float64) float64 {
	return math.Sinh(s.alpha*s.isometric(lat) + s.shift)
}

// latitude returns the latitude on the ellipsoid for an isometric latitude on the sphere.
func (s *gaussSphere) latitude(isometric float64) float64 {
	return s.geodetic.geodetic(math.Sinh((isometric - s.shift) / s.alpha))
}
