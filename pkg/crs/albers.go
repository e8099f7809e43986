package crs

import "math"

// albers is the equal-area conic projection with two different standard parallels (EPSG method 9822).
type albers struct {
	ellipsoid

	geodetic series
	cone, c  float64 // the constants n and C
	qPole    float64 // q of the pole
	rf       float64 // radius of the parallel of the false origin
	x0, y0   float64
}

func newAlbers(l ellipsoid, o origin, parallel1, parallel2 float64) *albers {
	lat1, lat2 := radians(parallel1), radians(parallel2)
	m1, m2 := l.m(lat1), l.m(lat2)
	q1, q2 := l.q(math.Sin(lat1)), l.q(math.Sin(lat2))
	n := (m1*m1 - m2*m2) / (q2 - q1)
	p := &albers{
		ellipsoid: l, geodetic: geodeticFromAuthalic(l.n),
		cone: n, c: m1*m1 + n*q1, qPole: l.q(1), x0: o.x, y0: o.y,
	}
	p.rf = p.radius(radians(o.lat))
	return p
}

func (p *albers) radius(lat float64) float64 {
	return p.a * math.Sqrt(p.c-p.cone*p.q(math.Sin(lat))) / p.cone
}

func (p *albers) forward(lon, lat float64) (x, y float64) {
	r := p.radius(lat)
	sin, cos := math.Sincos(p.cone * lon)
	return p.x0 + r*sin, p.y0 + p.rf - r*cos
}

func (p *albers) inverse(x, y float64) (lon, lat float64) {
	dx, dy := x-p.x0, p.rf-(y-p.y0)
	if p.cone < 0 {
		dx, dy = -dx, -dy
	}
	r := math.Sqrt(dx*dx+dy*dy) * p.cone / p.a
	q := (p.c - r*r) / p.cone
	return math.Atan2(dx, dy) / p.cone, p.geodetic.geodeticOfSine(q / p.qPole)
}
