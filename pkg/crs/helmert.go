package crs

import "math"

// arcSecond is one second of arc in radians.
const arcSecond = math.Pi / 180 / 3600

// helmertParameters are the parameters of a transformation of geocentric coordinates by the position vector convention
// (EPSG methods 9606 and 1033). With the opposite signs of the rotations they describe the coordinate frame convention
// (9607, 1032), and without rotations and scale geocentric translations (9603).
type helmertParameters struct {
	tx, ty, tz float64 // metres
	rx, ry, rz float64 // seconds of arc
	scale      float64 // parts per million
}

// vector is a geocentric coordinate, metres.
type vector [3]float64

// helmert is a prepared transformation: v → matrix·(v - before) + after.
type helmert struct {
	before, after vector
	matrix        [3]vector
}

// newHelmert prepares a transformation. The inverse subtracts the translation, applies the transposed matrix and divides
// by the scale. EPSG also permits the opposite signs of the parameters, which gives the same result to 0.1 mm.
func newHelmert(p *helmertParameters, backwards bool) helmert {
	rx, ry, rz := p.rx*arcSecond, p.ry*arcSecond, p.rz*arcSecond
	rotation := [3]vector{
		{1, -rz, ry},
		{rz, 1, -rx},
		{-ry, rx, 1},
	}
	h := helmert{after: vector{p.tx, p.ty, p.tz}}
	factor := 1 + p.scale*1e-6
	if backwards {
		h.before, h.after = h.after, h.before
		factor = 1 / factor
	}
	for i := range 3 {
		for j := range 3 {
			if backwards {
				h.matrix[i][j] = factor * rotation[j][i]
			} else {
				h.matrix[i][j] = factor * rotation[i][j]
			}
		}
	}
	return h
}

func (h *helmert) apply(v vector) vector {
	x, y, z := v[0]-h.before[0], v[1]-h.before[1], v[2]-h.before[2]
	for i := range v {
		m := &h.matrix[i]
		v[i] = m[0]*x + m[1]*y + m[2]*z + h.after[i]
	}
	return v
}

// geocentric returns the geocentric coordinate of a position in radians and metres (EPSG method 9602).
func (l ellipsoid) geocentric(lon, lat, height float64) vector {
	sinLat, cosLat := math.Sincos(lat)
	sinLon, cosLon := math.Sincos(lon)
	nu := l.a / math.Sqrt(1-l.e2*sinLat*sinLat)
	return vector{
		(nu + height) * cosLat * cosLon,
		(nu + height) * cosLat * sinLon,
		(nu*(1-l.e2) + height) * sinLat,
	}
}

// geographic returns the longitude and latitude of a geocentric coordinate in radians. It uses Bowring's formula; one
// step is exact to a nanometre near the surface (EPSG method 9602).
func (l ellipsoid) geographic(v vector) (lon, lat float64) {
	p := math.Sqrt(v[0]*v[0] + v[1]*v[1])
	ratio := math.Sqrt(1 - l.e2) // b/a
	b := l.a * ratio
	tan := v[2] / (p * ratio)
	cos := 1 / math.Sqrt(1+tan*tan)
	sin := tan * cos
	if p == 0 { // at a pole
		return 0, math.Copysign(math.Pi/2, v[2])
	}
	e2b := l.e2 / (1 - l.e2)
	return math.Atan2(v[1], v[0]), math.Atan2(v[2]+e2b*b*sin*sin*sin, p-l.e2*l.a*cos*cos*cos)
}
