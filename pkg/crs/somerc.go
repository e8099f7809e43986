package crs

import "math"

// swissObliqueMercator is the projection of the Swiss grids: the ellipsoid is
// mapped conformally to a sphere, and that by an oblique Mercator projection to
// the plane (swisstopo 2016, section 3; EPSG defines it as method 9815 with an
// azimuth of 90°, formerly 9814).
type swissObliqueMercator struct {
	ellipsoid

	geodetic   series
	alpha, k   float64 // λ' = α·λ, ψ' = α·ψ + k
	radius     float64 // of the sphere
	sin0, cos0 float64 // of the latitude of the origin on the sphere
	x0, y0     float64
}

func newSwissObliqueMercator(l ellipsoid, o origin) *swissObliqueMercator {
	lat := radians(o.lat)
	sin, cos := math.Sincos(lat)
	alpha := math.Sqrt(1 + l.e2/(1-l.e2)*cos*cos*cos*cos)
	b0 := math.Asin(sin / alpha)
	p := &swissObliqueMercator{
		ellipsoid: l, geodetic: geodeticFromConformal(l.n),
		alpha: alpha, k: math.Asinh(math.Tan(b0)) - alpha*l.isometric(lat),
		radius: l.a * math.Sqrt(1-l.e2) / (1 - l.e2*sin*sin),
		x0:     o.x, y0: o.y,
	}
	p.sin0, p.cos0 = math.Sincos(b0)
	return p
}

func (p *swissObliqueMercator) forward(lon, lat float64) (x, y float64) {
	tanB := math.Sinh(p.alpha*p.isometric(lat) + p.k)
	cosB := 1 / math.Sqrt(1+tanB*tanB)
	sinL, cosL := math.Sincos(p.alpha * lon)
	l := math.Atan2(sinL, p.sin0*tanB+p.cos0*cosL)
	sin := cosB * (p.cos0*tanB - p.sin0*cosL)
	return p.x0 + p.radius*l, p.y0 + p.radius*math.Atanh(sin)
}

func (p *swissObliqueMercator) inverse(x, y float64) (lon, lat float64) {
	l := (x - p.x0) / p.radius
	if math.Abs(l) > math.Pi {
		return math.NaN(), math.NaN() // once round the sphere
	}
	tanB := math.Sinh((y - p.y0) / p.radius)
	cosB := 1 / math.Sqrt(1+tanB*tanB)
	sinL, cosL := math.Sincos(l)
	sin := cosB * (p.cos0*tanB + p.sin0*cosL)
	psi := (math.Atanh(sin) - p.k) / p.alpha
	return math.Atan2(sinL, p.cos0*cosL-p.sin0*tanB) / p.alpha, p.geodetic.geodetic(math.Sinh(psi))
}
