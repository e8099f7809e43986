package crs

import "math"

// mercator is the Mercator projection of the ellipsoid with its natural origin on the equator (EPSG method 9804).
type mercator struct {
	ellipsoid

	geodetic series
	radius   float64 // k₀·a
	x0, y0   float64
}

func newMercator(l ellipsoid, o origin, scale float64) *mercator {
	return &mercator{ellipsoid: l, geodetic: geodeticFromConformal(l.n), radius: scale * l.a, x0: o.x, y0: o.y}
}

func (p *mercator) forward(lon, lat float64) (x, y float64) {
	return p.x0 + p.radius*lon, p.y0 + p.radius*p.isometric(lat)
}

func (p *mercator) inverse(x, y float64) (lon, lat float64) {
	return (x - p.x0) / p.radius, p.geodetic.geodetic(math.Sinh((y - p.y0) / p.radius))
}

// webMercator is Popular Visualisation Pseudo Mercator (EPSG method 1024): the formulas of the sphere, applied to
// latitudes of the ellipsoid.
type webMercator struct{ radius float64 }

func (p webMercator) forward(lon, lat float64) (x, y float64) {
	return p.radius * lon, p.radius * math.Asinh(math.Tan(lat))
}

func (p webMercator) inverse(x, y float64) (lon, lat float64) {
	return x / p.radius, math.Atan(math.Sinh(y / p.radius))
}
