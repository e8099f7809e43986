package crs

import "math"

// ellipsoid is an ellipsoid of revolution with the constants that the formulas use.
type ellipsoid struct {
	a  float64 // semi-major axis in metres
	e2 float64 // first eccentricity squared
	e  float64 // first eccentricity; 0 for a sphere
	n  float64 // third flattening, (a-b)/(a+b)
}

// newEllipsoid returns the ellipsoid with a flattening; 0 is a sphere.
func newEllipsoid(a, flattening float64) ellipsoid {
	e2 := flattening * (2 - flattening)
	return ellipsoid{a: a, e2: e2, e: math.Sqrt(e2), n: flattening / (2 - flattening)}
}

// isometric returns the isometric latitude ψ of a latitude in radians, which is
// infinite at the poles: asinh(tan φ) - e·atanh(e·sin φ). Its hyperbolic sine is
// the tangent of the conformal latitude (Karney 2011, equations 7 to 9).
func (l ellipsoid) isometric(lat float64) float64 {
	if math.Abs(lat) >= math.Pi/2 { // the tangent of the double nearest to a pole is finite
		return math.Copysign(math.Inf(1), lat)
	}
	sin, cos := math.Sincos(lat)
	return math.Asinh(sin/cos) - l.e*math.Atanh(l.e*sin)
}

// conformalTan returns tan χ, the tangent of the conformal latitude. It does not compute ψ first, because that loses
// digits near the poles.
func (l ellipsoid) conformalTan(lat float64) float64 {
	sin, cos := math.Sincos(lat)
	tau := sin / cos
	sigma := math.Sinh(l.e * math.Atanh(l.e*sin))
	return tau*math.Sqrt(1+sigma*sigma) - sigma*math.Sqrt(1+tau*tau)
}

// q returns q of EPSG methods 9820 and 9822 (there also called α) for the sine of a latitude: q/q(1) is the sine of the
// authalic latitude. For a sphere it returns the limit, 2·sin φ.
func (l ellipsoid) q(sin float64) float64 {
	if l.e == 0 {
		return 2 * sin
	}
	return (1 - l.e2) * (sin/(1-l.e2*sin*sin) + math.Atanh(l.e*sin)/l.e)
}

// m returns the radius of a parallel in units of a (EPSG method 9802).
func (l ellipsoid) m(lat float64) float64 {
	sin, cos := math.Sincos(lat)
	return cos / math.Sqrt(1-l.e2*sin*sin)
}
