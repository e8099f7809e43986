package crs

import "math"

// polarStereographic is EPSG method 9810, with a scale at the pole, and 9829, with a parallel of scale 1. The projection
// of the south pole mirrors that of the north pole.
type polarStereographic struct {
	ellipsoid

	geodetic series
	factor   float64 // the radius of a parallel is factor·exp(-ψ)
	sign     float64 // 1 for the north pole, -1 for the south pole
	x0, y0   float64
}

// newPolarStereographic returns the projection of the pole at the latitude of the origin. It uses the parallel unless
// that is 0, and the scale otherwise.
func newPolarStereographic(l ellipsoid, o origin, scale, parallel float64) *polarStereographic {
	p := &polarStereographic{ellipsoid: l, geodetic: geodeticFromConformal(l.n), sign: 1, x0: o.x, y0: o.y}
	if o.lat < 0 {
		p.sign = -1
	}
	if parallel == 0 {
		p.factor = 2 * l.a * scale / math.Sqrt(math.Pow(1+l.e, 1+l.e)*math.Pow(1-l.e, 1-l.e))
		return p
	}
	lat := radians(math.Abs(parallel))
	p.factor = l.a * l.m(lat) * math.Exp(l.isometric(lat))
	return p
}

func (p *polarStereographic) forward(lon, lat float64) (x, y float64) {
	r := p.factor * math.Exp(-p.isometric(p.sign*lat))
	sin, cos := math.Sincos(lon)
	return p.x0 + r*sin, p.y0 - p.sign*r*cos
}

func (p *polarStereographic) inverse(x, y float64) (lon, lat float64) {
	dx, dy := x-p.x0, -p.sign*(y-p.y0)
	psi := math.Log(p.factor / math.Sqrt(dx*dx+dy*dy)) // infinite at the pole
	return math.Atan2(dx, dy), p.sign * p.geodetic.geodetic(math.Sinh(psi))
}
