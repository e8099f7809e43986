package crs

import "math"

// webMercator is EPSG method 1024, Popular Visualisation Pseudo Mercator: the
// formulas of the sphere applied to latitudes of the ellipsoid.
type webMercator struct{ radius float64 }

func (p webMercator) forward(lon, lat float64) (x, y float64) {
	return p.radius * lon, p.radius * math.Asinh(math.Tan(lat))
}

func (p webMercator) inverse(x, y float64) (lon, lat float64) {
	return x / p.radius, math.Atan(math.Sinh(y / p.radius))
}
