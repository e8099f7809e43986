package crs

import "math"

// lambertConformalConic is EPSG method 9802, with two different standard parallels, and 9801, with one parallel and a
// scale.
type lambertConformalConic struct {
	ellipsoid

	geodetic   series
	cone       float64 // the constant n of the cone
	af, rf     float64 // a·F, and the radius of the parallel of the false origin
	xOff, yOff float64
}

func newLambertConformalConic(l ellipsoid, o origin, parallel1, parallel2 float64) *lambertConformalConic {
	lat1, lat2 := radians(parallel1), radians(parallel2)
	psi1, psi2 := l.isometric(lat1), l.isometric(lat2)
	n := math.Log(l.m(lat1)/l.m(lat2)) / (psi2 - psi1)
	p := &lambertConformalConic{
		ellipsoid: l, geodetic: geodeticFromConformal(l.n),
		cone: n, af: l.a * l.m(lat1) / n * math.Exp(n*psi1),
		xOff: o.x, yOff: o.y,
	}
	p.rf = p.radius(radians(o.lat))
	return p
}

func newLambertConformalConic1(l ellipsoid, o origin, scale float64) *lambertConformalConic {
	lat := radians(o.lat)
	n := math.Sin(lat)
	p := &lambertConformalConic{
		ellipsoid: l, geodetic: geodeticFromConformal(l.n),
		cone: n, af: scale * l.a * l.m(lat) / n * math.Exp(n*l.isometric(lat)),
		xOff: o.x, yOff: o.y,
	}
	p.rf = p.radius(lat)
	return p
}

// radius returns r = a·F·tⁿ, where t = exp(-ψ).
func (p *lambertConformalConic) radius(lat float64) float64 {
	return p.af * math.Exp(-p.cone*p.isometric(lat))
}

func (p *lambertConformalConic) forward(lon, lat float64) (x, y float64) {
	r := p.radius(lat)
	sin, cos := math.Sincos(p.cone * lon)
	return p.xOff + r*sin, p.yOff + p.rf - r*cos
}

func (p *lambertConformalConic) inverse(x, y float64) (lon, lat float64) {
	dx, dy := x-p.xOff, p.rf-(y-p.yOff)
	if p.cone < 0 {
		dx, dy = -dx, -dy
	}
	psi := -math.Log(math.Sqrt(dx*dx+dy*dy)/math.Abs(p.af)) / p.cone
	return math.Atan2(dx, dy) / p.cone, p.geodetic.geodetic(math.Sinh(psi))
}
