package noding

import (
	"math"
	"math/big"

	"github.com/paulmach/orb"
)

// crossing is the exact place where two segments cross: whole units of the finer grid, rounded down, and the remaining
// fraction. The fraction is exact if it is 0 and rounded otherwise. It is always on the correct side of 1/2.
type crossing struct {
	x, y         float64
	restX, restY float64
	l, u         int32 // the lower and the upper segment
}

// floor returns the crossing rounded down to whole units.
func (c *crossing) floor() orb.Point { return orb.Point{c.x, c.y} }

// arithmetic computes crossings. It reuses its big numbers.
type arithmetic struct {
	rx, ry, sx, sy, qx, qy, t, den, num, rest, work big.Int
}

// crossingOf computes where two segments cross. The caller knows that they do.
func (a *arithmetic) crossingOf(l, u *edge) crossing {
	a.fraction(l, u)
	var c crossing
	c.x, c.restX = a.coordinate(l.West[0], &a.rx)
	c.y, c.restY = a.coordinate(l.West[1], &a.ry)
	return c
}

// fraction computes the position of the crossing along the lower segment as t/den, with a positive den.
func (a *arithmetic) fraction(l, u *edge) {
	difference(&a.rx, l.East[0], l.West[0])
	difference(&a.ry, l.East[1], l.West[1])
	difference(&a.sx, u.East[0], u.West[0])
	difference(&a.sy, u.East[1], u.West[1])
	difference(&a.qx, u.West[0], l.West[0])
	difference(&a.qy, u.West[1], l.West[1])
	a.cross(&a.den, &a.rx, &a.ry, &a.sx, &a.sy)
	a.cross(&a.t, &a.qx, &a.qy, &a.sx, &a.sy)
	if a.den.Sign() < 0 {
		a.den.Neg(&a.den)
		a.t.Neg(&a.t)
	}
}

// difference sets z to x-y. Both must be whole numbers below 2⁵³.
func difference(z *big.Int, x, y float64) { z.SetInt64(int64(x) - int64(y)) }

func (a *arithmetic) cross(z, px, py, qx, qy *big.Int) {
	z.Mul(px, qy)
	a.work.Mul(py, qx)
	z.Sub(z, &a.work)
}

// coordinate returns from + way·t/den as a whole number, rounded down, and the remaining fraction.
func (a *arithmetic) coordinate(from float64, way *big.Int) (whole, rest float64) {
	a.num.Mul(way, &a.t)
	a.num.DivMod(&a.num, &a.den, &a.rest) // Euclidean division: the remainder is never negative
	whole = from + float64(a.num.Int64())
	if a.rest.Sign() == 0 {
		return whole, 0
	}
	r, _ := new(big.Float).SetInt(&a.rest).Float64()
	d, _ := new(big.Float).SetInt(&a.den).Float64()
	rest = r / d
	if a.work.Lsh(&a.rest, 1).Cmp(&a.den) >= 0 {
		return whole, max(rest, 0.5)
	}
	return whole, min(rest, math.Nextafter(0.5, 0))
}

// sure is the smallest difference at which two fractions are compared as doubles.
const sure = 1e-12

// compare orders two crossings as the sweep reaches them. It compares exactly.
func (a *arithmetic) compare(p, q *crossing, edges []edge) int {
	if order := a.compareOrdinate(p, q, edges, 0); order != 0 {
		return order
	}
	return a.compareOrdinate(p, q, edges, 1)
}

func (a *arithmetic) compareOrdinate(p, q *crossing, edges []edge, axis int) int {
	pWhole, pRest, qWhole, qRest := p.x, p.restX, q.x, q.restX
	if axis == 1 {
		pWhole, pRest, qWhole, qRest = p.y, p.restY, q.y, q.restY
	}
	switch {
	case pWhole < qWhole:
		return -1
	case pWhole > qWhole:
		return 1
	case pRest < qRest-sure:
		return -1
	case pRest > qRest+sure:
		return 1
	case pRest == 0 && qRest == 0 || p.l == q.l && p.u == q.u:
		return 0
	}
	return a.rational(p, edges, axis).Cmp(a.rational(q, edges, axis))
}

// rational returns an ordinate of a crossing as a fraction.
func (a *arithmetic) rational(c *crossing, edges []edge, axis int) *big.Rat {
	l, way := &edges[c.l], &a.rx
	a.fraction(l, &edges[c.u])
	if axis == 1 {
		way = &a.ry
	}
	ordinate := new(big.Rat).SetFrac(new(big.Int).Mul(way, &a.t), &a.den)
	return ordinate.Add(ordinate, new(big.Rat).SetFloat64(l.West[axis]))
}

// pixelOf returns the cell in which a crossing lies.
func (r Raster) pixelOf(c *crossing) orb.Point {
	if r.step > 1 {
		return r.pixel(c.floor()) // half of an even step is a whole number
	}
	p := c.floor()
	if c.restX >= 0.5 {
		p[0]++
	}
	if c.restY >= 0.5 {
		p[1]++
	}
	return p
}
