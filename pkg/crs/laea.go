package crs

import "math"

// lambertAzimuthalEqualArea is EPSG method 9820 in its oblique and equatorial aspects. The polar aspects have other
// formulas and no supported CRS.
type lambertAzimuthalEqualArea struct {
	ellipsoid

	geodetic   series
	qPole      float64
	rq, d      float64
	sin0, cos0 float64 // of the authalic latitude of the origin
	x0, y0     float64
}

func newLambertAzimuthalEqualArea(l ellipsoid, o origin) *lambertAzimuthalEqualArea {
	lat := radians(o.lat)
	p := &lambertAzimuthalEqualArea{
		ellipsoid: l, geodetic: geodeticFromAuthalic(l.n),
		qPole: l.q(1), x0: o.x, y0: o.y,
	}
	p.rq = l.a * math.Sqrt(p.qPole/2)
	p.sin0, p.cos0 = p.authalic(lat)
	p.d = l.a * l.m(lat) / (p.rq * p.cos0)
	return p
}

// authalic returns the sine and cosine of the authalic latitude.
func (p *lambertAzimuthalEqualArea) authalic(lat float64) (sin, cos float64) {
	sin = p.q(math.Sin(lat)) / p.qPole
	return sin, math.Sqrt(max(0, (1-sin)*(1+sin)))
}

func (p *lambertAzimuthalEqualArea) forward(lon, lat float64) (x, y float64) {
	sinL, cosL := math.Sincos(lon)
	sin, cos := p.authalic(lat)
	b := p.rq * math.Sqrt(2/(1+p.sin0*sin+p.cos0*cos*cosL)) // infinite at the antipode
	return p.x0 + b*p.d*cos*sinL, p.y0 + b/p.d*(p.cos0*sin-p.sin0*cos*cosL)
}

func (p *lambertAzimuthalEqualArea) inverse(x, y float64) (lon, lat float64) {
	dx, dy := (x-p.x0)/p.d, (y-p.y0)*p.d
	rho := math.Sqrt(dx*dx + dy*dy)
	if rho == 0 {
		return 0, p.geodetic.geodeticOfSine(p.sin0)
	}
	// half is half the angle from the origin. It is NaN beyond the antipode.
	half := math.Asin(rho / (2 * p.rq))
	sinC, cosC := math.Sincos(2 * half)
	sin := cosC*p.sin0 + dy*sinC*p.cos0/rho
	return math.Atan2(dx*sinC, rho*p.cos0*cosC-dy*p.sin0*sinC), p.geodetic.geodeticOfSine(sin)
}
