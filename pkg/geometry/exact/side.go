package exact

import (
	"math"
	"math/big"

	"github.com/paulmach/orb"
)

// epsilon is half the distance from 1 to the next double: the relative error of one operation.
const epsilon = 1.0 / (1 << 53)

// errorBound is the relative error of the plain determinant (Shewchuk, 1997, "ccwerrboundA").
const errorBound = (3 + 16*epsilon) * epsilon

// smallest excludes determinants whose products may underflow, because their error is not relative.
const smallest = 1e-280

// Side returns a positive number if p lies left of the line from a to b, a negative number if it lies right of it, and 0
// if it lies on the line. The result is exact.
//
// The conversions to float64 keep the compiler from fusing a product and a sum, which would invalidate the error bound.
func Side(a, b, p orb.Point) int {
	left := float64((a[0] - p[0]) * (b[1] - p[1]))
	right := float64((a[1] - p[1]) * (b[0] - p[0]))
	det := left - right
	bound := errorBound*(math.Abs(left)+math.Abs(right)) + smallest
	switch {
	case det > bound:
		return 1
	case det < -bound:
		return -1
	}
	return sideExactly(a, b, p)
}

// sideExactly computes Side for points that are almost on one line. Most of them are exactly on it, because they lie on
// one parallel or on a grid.
func sideExactly(a, b, p orb.Point) int {
	if a[0] == p[0] && b[0] == p[0] || a[1] == p[1] && b[1] == p[1] || a == p || b == p {
		return 0
	}
	if outOfRange(a) || outOfRange(b) || outOfRange(p) {
		return sideBig(a, b, p)
	}
	ax, axTail := twoDiff(a[0], p[0])
	ay, ayTail := twoDiff(a[1], p[1])
	bx, bxTail := twoDiff(b[0], p[0])
	by, byTail := twoDiff(b[1], p[1])
	var sum expansion
	sum.addProduct(ax, by)
	sum.addProduct(-ay, bx)
	if axTail != 0 || ayTail != 0 || bxTail != 0 || byTail != 0 {
		for _, product := range [...][2]float64{
			{ax, byTail}, {axTail, by}, {axTail, byTail}, {-ay, bxTail}, {-ayTail, bx}, {-ayTail, bxTail},
		} {
			sum.addProduct(product[0], product[1])
		}
	}
	return sum.sign()
}

// outOfRange reports whether a product of an ordinate may overflow, or lose digits below the smallest double.
func outOfRange(p orb.Point) bool {
	for _, x := range p {
		if x = math.Abs(x); x > 0x1p480 || x < 0x1p-420 && x != 0 {
			return true
		}
	}
	return false
}

// sideBig computes Side for ordinates that are out of range.
func sideBig(a, b, p orb.Point) int {
	diff := func(x, y float64) *big.Rat {
		return new(big.Rat).Sub(new(big.Rat).SetFloat64(x), new(big.Rat).SetFloat64(y))
	}
	left := diff(a[0], p[0])
	right := diff(a[1], p[1])
	return left.Mul(left, diff(b[1], p[1])).Cmp(right.Mul(right, diff(b[0], p[0])))
}

// expansion is an exact number: a sum of doubles that do not overlap, the smallest first. It has at most 16 doubles, two
// for each of eight products.
type expansion struct {
	parts [16]float64
	n     int
}

// addProduct adds x·y.
func (e *expansion) addProduct(x, y float64) {
	if x == 0 || y == 0 {
		return
	}
	product := float64(x * y)
	e.add(math.FMA(x, y, -product))
	e.add(product)
}

// add adds a double (Shewchuk, 1997, Grow-Expansion without zeros).
func (e *expansion) add(x float64) {
	kept := 0
	for _, part := range e.parts[:e.n] {
		var tail float64
		if x, tail = twoSum(x, part); tail != 0 {
			e.parts[kept] = tail
			kept++
		}
	}
	if x != 0 {
		e.parts[kept] = x
		kept++
	}
	e.n = kept
}

// sign returns the sign of the largest part, which outweighs all others.
func (e *expansion) sign() int {
	switch {
	case e.n == 0:
		return 0
	case e.parts[e.n-1] > 0:
		return 1
	}
	return -1
}

// twoSum returns x+y as a double, and its rounding error.
func twoSum(x, y float64) (sum, tail float64) {
	sum = x + y
	virtual := sum - x
	return sum, (x - (sum - virtual)) + (y - virtual)
}

// twoDiff returns x-y as a double, and its rounding error.
func twoDiff(x, y float64) (diff, tail float64) { return twoSum(x, -y) }
