package crs

import "math"

// krovak is the conic projection of Czechia and Slovakia with easting and northing (EPSG method 1041). It maps the
// ellipsoid conformally to a sphere, and the sphere to a cone with an inclined axis.
type krovak struct {
	gaussSphere

	sinA, cosA float64 // of the co-latitude of the cone's axis
	cone       float64 // the constant n of the cone
	radius0    float64 // of the pseudo standard parallel
	isometric0 float64 // latitude of that parallel
	x0, y0     float64
}

func newKrovak(l ellipsoid, o origin, scale, axis, parallel float64) *krovak {
	lat := radians(parallel)
	p := &krovak{gaussSphere: newGaussSphere(l, radians(o.lat)), cone: math.Sin(lat), isometric0: math.Asinh(math.Tan(lat)), x0: o.x, y0: o.y}
	p.sinA, p.cosA = math.Sincos(radians(axis))
	p.radius0 = scale * p.radius / math.Tan(lat)
	return p
}

func (p *krovak) forward(lon, lat float64) (x, y float64) {
	tan := p.tangent(lat)
	cos := 1 / math.Sqrt(1+tan*tan)
	sin := tan * cos
	sinV, cosV := math.Sincos(-p.alpha * lon)
	t := math.Atanh(p.cosA*sin + p.sinA*cos*cosV) // isometric latitude relative to the inclined equator
	d := math.Atan2(cos*sinV, p.cosA*cos*cosV-p.sinA*sin)
	r := p.radius0 * math.Exp(p.cone*(p.isometric0-t))
	sin, cos = math.Sincos(p.cone * d)
	return p.x0 - r*sin, p.y0 - r*cos
}

func (p *krovak) inverse(x, y float64) (lon, lat float64) {
	westing, southing := p.x0-x, p.y0-y
	d := math.Atan2(westing, southing) / p.cone
	if math.Abs(d) > math.Pi {
		return math.NaN(), math.NaN() // outside of the cone
	}
	t := p.isometric0 - math.Log(math.Sqrt(westing*westing+southing*southing)/p.radius0)/p.cone
	cosT := 1 / math.Cosh(t)
	sinT := math.Tanh(t)
	sinD, cosD := math.Sincos(d)
	sin := p.cosA*sinT - p.sinA*cosT*cosD
	v := math.Atan2(cosT*sinD, p.sinA*sinT+p.cosA*cosT*cosD)
	return -v / p.alpha, p.latitude(math.Atanh(sin))
}
