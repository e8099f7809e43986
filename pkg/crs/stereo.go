package crs

import "math"

// obliqueStereographic is EPSG method 9809. It maps the ellipsoid conformally to a sphere, and projects the sphere from
// the antipode of the origin to the plane.
type obliqueStereographic struct {
	gaussSphere

	diameter   float64 // 2·k₀·R
	sin0, cos0 float64 // of the latitude of the origin on the sphere
	x0, y0     float64
}

func newObliqueStereographic(l ellipsoid, o origin, scale float64) *obliqueStereographic {
	p := &obliqueStereographic{gaussSphere: newGaussSphere(l, radians(o.lat)), x0: o.x, y0: o.y}
	p.diameter = 2 * scale * p.radius
	p.sin0, p.cos0 = math.Sincos(p.lat0)
	return p
}

func (p *obliqueStereographic) forward(lon, lat float64) (x, y float64) {
	tan := p.tangent(lat)
	cos := 1 / math.Sqrt(1+tan*tan)
	sin := tan * cos
	if math.IsInf(tan, 0) { // at a pole
		sin = math.Copysign(1, tan)
	}
	sinL, cosL := math.Sincos(p.alpha * lon)
	factor := p.diameter / (1 + p.sin0*sin + p.cos0*cos*cosL) // infinite at the antipode
	return p.x0 + factor*cos*sinL, p.y0 + factor*(p.cos0*sin-p.sin0*cos*cosL)
}

func (p *obliqueStereographic) inverse(x, y float64) (lon, lat float64) {
	dx, dy := (x-p.x0)/p.diameter, (y-p.y0)/p.diameter
	square := dx*dx + dy*dy // tan² of half the angle from the origin

	// Rounding can make the sine exceed 1 at a pole.
	sin := max(-1, min(1, (p.sin0*(1-square)+2*dy*p.cos0)/(1+square)))
	l := math.Atan2(2*dx, p.cos0*(1-square)-2*dy*p.sin0)
	return l / p.alpha, p.latitude(math.Atanh(sin))
}
