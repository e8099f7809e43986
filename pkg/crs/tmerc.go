package crs

import "math"

// transverseMercator is EPSG method 9807 by Krüger's series in n to the 6th order (Karney 2011, equations 11 to 36). It
// is exact to 5 nm up to 3,900 km from the central meridian.
type transverseMercator struct {
	ellipsoid

	alpha, beta series // Gauss-Schreiber to Gauss-Krüger, and back (negative)
	geodetic    series
	radius      float64 // k₀·A, of the rectifying circle
	x0, y0      float64 // of the natural origin on the equator
}

func newTransverseMercator(l ellipsoid, o origin, scale float64) *transverseMercator {
	n2 := l.n * l.n
	p := &transverseMercator{
		ellipsoid: l,
		alpha:     kruegerForward(l.n),
		beta:      kruegerInverse(l.n),
		geodetic:  geodeticFromConformal(l.n),
		radius:    scale * l.a / (1 + l.n) * (1 + n2/4 + n2*n2/64 + n2*n2*n2/256),
		x0:        o.x, y0: o.y,
	}
	_, y := p.forward(0, radians(o.lat))
	p.y0 = o.y - (y - o.y)
	return p
}

// kruegerForward returns the coefficients α of Karney 2011, equation 35.
func kruegerForward(n float64) series {
	return polynomials(n, [6][]float64{
		{1. / 2, -2. / 3, 5. / 16, 41. / 180, -127. / 288, 7891. / 37800},
		{13. / 48, -3. / 5, 557. / 1440, 281. / 630, -1983433. / 1935360},
		{61. / 240, -103. / 140, 15061. / 26880, 167603. / 181440},
		{49561. / 161280, -179. / 168, 6601661. / 7257600},
		{34729. / 80640, -3418889. / 1995840},
		{212378941. / 319334400},
	})
}

// kruegerInverse returns the coefficients β of Karney 2011, equation 36.
func kruegerInverse(n float64) series {
	return polynomials(n, [6][]float64{
		{1. / 2, -2. / 3, 37. / 96, -1. / 360, -81. / 512, 96199. / 604800},
		{1. / 48, 1. / 15, -437. / 1440, 46. / 105, -1118711. / 3870720},
		{17. / 480, -37. / 840, -209. / 4480, 5569. / 90720},
		{4397. / 161280, -11. / 504, -830251. / 7257600},
		{4583. / 161280, -108847. / 3991680},
		{20648693. / 638668800},
	})
}

func (p *transverseMercator) forward(lon, lat float64) (x, y float64) {
	sin, cos := math.Sincos(lon)
	tan := p.conformalTan(lat)
	xi := math.Atan2(tan, cos)
	eta := math.Asinh(sin / math.Sqrt(tan*tan+cos*cos))
	dxi, deta := p.alpha.complexAt(xi, eta)
	return p.x0 + p.radius*(eta+deta), p.y0 + p.radius*(xi+dxi)
}

func (p *transverseMercator) inverse(x, y float64) (lon, lat float64) {
	xi, eta := (y-p.y0)/p.radius, (x-p.x0)/p.radius
	if math.Abs(xi) > math.Pi || math.Abs(eta) > math.Pi {
		return math.NaN(), math.NaN() // the series is periodic and would return a wrong place
	}
	dxi, deta := p.beta.complexAt(xi, eta)
	sin, cos := math.Sincos(xi - dxi)
	sinh := math.Sinh(eta - deta)
	return math.Atan2(sinh, cos), p.geodetic.geodetic(sin / math.Sqrt(sinh*sinh+cos*cos))
}
