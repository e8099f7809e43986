package crs

import "math"

// swissObliqueMercator is the projection of the Swiss and Hungarian grids. It maps the ellipsoid conformally to a
// sphere, and the sphere to the plane by an oblique Mercator projection (swisstopo 2016, section 3; EPSG method 9815
// with an azimuth of 90°, formerly 9814).
type swissObliqueMercator struct {
	gaussSphere

	scaled     float64 // k₀·R
	sin0, cos0 float64 // of the latitude of the origin on the sphere
	x0, y0     float64
}

func newSwissObliqueMercator(l ellipsoid, o origin, scale float64) *swissObliqueMercator {
	p := &swissObliqueMercator{gaussSphere: newGaussSphere(l, radians(o.lat)), x0: o.x, y0: o.y}
	p.scaled = scale * p.radius
	p.sin0, p.cos0 = math.Sincos(p.lat0)
	return p
}

func (p *swissObliqueMercator) forward(lon, lat float64) (x, y float64) {
	tanB := p.tangent(lat)
	cosB := 1 / math.Sqrt(1+tanB*tanB)
	sinL, cosL := math.Sincos(p.alpha * lon)
	l := math.Atan2(sinL, p.sin0*tanB+p.cos0*cosL)
	sin := cosB * (p.cos0*tanB - p.sin0*cosL)
	return p.x0 + p.scaled*l, p.y0 + p.scaled*math.Atanh(sin)
}

func (p *swissObliqueMercator) inverse(x, y float64) (lon, lat float64) {
	l := (x - p.x0) / p.scaled
	if math.Abs(l) > math.Pi {
		return math.NaN(), math.NaN() // more than once round the sphere
	}
	tanB := math.Sinh((y - p.y0) / p.scaled)
	cosB := 1 / math.Sqrt(1+tanB*tanB)
	sinL, cosL := math.Sincos(l)
	sin := cosB * (p.cos0*tanB + p.sin0*cosL)
	return math.Atan2(sinL, p.cos0*cosL-p.sin0*tanB) / p.alpha, p.latitude(math.Atanh(sin))
}
