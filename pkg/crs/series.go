package crs

import (
	"math"
	"slices"
)

// series holds the coefficients of Σ cⱼ·sin(2jθ) for j from 1 to 6. The conversions between the latitudes of an
// ellipsoid are such series, with coefficients that are polynomials in n. The 6th order is exact to well below a
// nanometre for the Earth.
type series [6]float64

// at sums the series by Clenshaw's method, given sin 2θ and cos 2θ.
func (c *series) at(sin2, cos2 float64) float64 {
	var b1, b2 float64
	for j := len(c) - 1; j >= 0; j-- {
		b1, b2 = 2*cos2*b1-b2+c[j], b1
	}
	return sin2 * b1
}

// complexAt sums the series at the complex angle ξ + iη.
func (c *series) complexAt(xi, eta float64) (re, im float64) {
	sin, cos := math.Sincos(2 * xi)
	exp := math.Exp(2 * eta)
	sinh, cosh := (exp-1/exp)/2, (exp+1/exp)/2
	// 2·cos 2ζ
	kr, ki := 2*cos*cosh, -2*sin*sinh
	var r1, i1, r2, i2 float64
	for j := len(c) - 1; j >= 0; j-- {
		r, i := kr*r1-ki*i1-r2+c[j], kr*i1+ki*r1-i2
		r1, i1, r2, i2 = r, i, r1, i1
	}
	// sin 2ζ · b₁
	sr, si := sin*cosh, cos*sinh
	return sr*r1 - si*i1, sr*i1 + si*r1
}

// polynomials evaluates one polynomial in n per coefficient. Polynomial j begins with nʲ: row j holds the factors of nʲ,
// nʲ⁺¹, … n⁶.
func polynomials(n float64, rows [6][]float64) series {
	var c series
	power := n
	for j, row := range rows {
		for _, factor := range slices.Backward(row) {
			c[j] = c[j]*n + factor
		}
		c[j] *= power
		power *= n
	}
	return c
}

// geodeticFromConformal returns φ - χ as a series in χ (Karney 2022, equation A7; Krüger 1912, section 3).
func geodeticFromConformal(n float64) series {
	return polynomials(n, [6][]float64{
		{2, -2. / 3, -2, 116. / 45, 26. / 45, -2854. / 675},
		{7. / 3, -8. / 5, -227. / 45, 2704. / 315, 2323. / 945},
		{56. / 15, -136. / 35, -1262. / 105, 73814. / 2835},
		{4279. / 630, -332. / 35, -399572. / 14175},
		{4174. / 315, -144838. / 6237},
		{601676. / 22275},
	})
}

// geodeticFromAuthalic returns φ - ξ as a series in ξ (Karney 2022, equation A10).
func geodeticFromAuthalic(n float64) series {
	return polynomials(n, [6][]float64{
		{4. / 3, 4. / 45, -16. / 35, -2582. / 14175, 60136. / 467775, 28112932. / 212837625},
		{46. / 45, 152. / 945, -11966. / 14175, -21016. / 51975, 251310128. / 638512875},
		{3044. / 2835, 3802. / 14175, -94388. / 66825, -8797648. / 10945935},
		{6059. / 4725, 41072. / 93555, -1472637812. / 638512875},
		{768272. / 467775, 455935736. / 638512875},
		{4210684958. / 1915538625},
	})
}

// nearPole is a tangent whose latitude equals that of the pole to the last bit, and whose square is still finite.
const nearPole = 1e100

// geodetic returns the latitude whose conformal latitude has the tangent tan χ.
func (c *series) geodetic(tan float64) float64 {
	if math.Abs(tan) > nearPole {
		return math.Copysign(math.Pi/2, tan)
	}
	square := tan * tan
	return math.Atan(tan) + c.at(2*tan/(1+square), (1-square)/(1+square))
}

// geodeticOfSine returns the latitude whose authalic latitude has a sine.
func (c *series) geodeticOfSine(sin float64) float64 {
	if math.Abs(sin) > 1 { // by rounding at a pole, or far outside
		if math.Abs(sin) > 1+1e-9 {
			return math.NaN()
		}
		sin = math.Copysign(1, sin)
	}
	cos := math.Sqrt((1 - sin) * (1 + sin))
	return math.Atan2(sin, cos) + c.at(2*sin*cos, (cos-sin)*(cos+sin))
}
