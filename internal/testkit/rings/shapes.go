package rings

import (
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// Shape draws a valid ring of about n corners, with n at least 10.
type Shape struct {
	Name string
	Ring func(n int) orb.Ring
}

// Shapes lists the shapes: a digitised border, and shapes that hostile producers send.
func Shapes() []Shape {
	return []Shape{
		{"coast", Coast},
		{"star", Star},
		{"comb", Comb},
		{"comb_on_its_side", func(n int) orb.Ring { return turned(Comb(n)) }},
		{"zigzag", Zigzag},
		{"spiral", Spiral},
		{"stairs", Stairs},
	}
}

// Closed repeats the first corner at the end.
func Closed(corners ...orb.Point) orb.Ring { return append(corners, corners[0]) }

// Box is a square around a position.
func Box(x, y, half float64) orb.Ring {
	return Closed(orb.Point{x - half, y - half}, orb.Point{x + half, y - half}, orb.Point{x + half, y + half}, orb.Point{x - half, y + half})
}

// Around is a ring around the origin, with the distance of each corner.
func Around(n int, radius func(i int, angle float64) float64) orb.Ring {
	ring := make(orb.Ring, 0, n+1)
	for i := range n {
		angle := 2 * math.Pi * float64(i) / float64(n)
		r := radius(i, angle)
		ring = append(ring, orb.Point{r * math.Cos(angle), r * math.Sin(angle)})
	}
	return Closed(ring...)
}

// Coast resembles a digitised border: its edges are short.
func Coast(n int) orb.Ring {
	return Around(n, func(i int, angle float64) float64 {
		return 10 + math.Sin(5*angle) + 0.3*math.Sin(41*angle) + math.Sin(float64(i)*7)/float64(n)
	})
}

// Star has spikes as long as it is wide.
func Star(n int) orb.Ring {
	return Around(n, func(i int, _ float64) float64 { return 10 + 90*float64(i%2) })
}

// Comb has long parallel teeth.
func Comb(n int) orb.Ring {
	var ring orb.Ring
	teeth := n/2 - 1
	for i := range teeth {
		ring = append(ring, orb.Point{float64(2 * i), 0}, orb.Point{float64(2*i + 1), 1e6})
	}
	return Closed(append(ring, orb.Point{float64(2 * teeth), -1}, orb.Point{0, -1})...)
}

// Zigzag is a thin band that goes back and forth over its whole width.
func Zigzag(n int) orb.Ring {
	there := make(orb.Ring, 0, n)
	for i := range n / 2 {
		there = append(there, orb.Point{1e5 * float64(i%2), float64(i)})
	}
	return band(there, func(p orb.Point) orb.Point { return orb.Point{p[0] - 100, p[1]} })
}

// Spiral is a band that winds around its middle.
func Spiral(n int) orb.Ring {
	there := make(orb.Ring, 0, n)
	for angle := 0.0; len(there) < n/2; angle += min(0.3, 2/math.Sqrt(angle+1)) {
		there = append(there, orb.Point{angle + 1, angle})
	}
	ring := band(there, func(p orb.Point) orb.Point { return orb.Point{p[0] + 1.25, p[1]} })
	for i, p := range ring { // until here, the points are distances and angles
		ring[i] = orb.Point{p[0] * math.Cos(p[1]), p[0] * math.Sin(p[1])}
	}
	return ring
}

// Stairs have their corners on a grid, two on each meridian.
func Stairs(n int) orb.Ring {
	var ring orb.Ring
	steps := n/2 - 1
	for i := range steps {
		ring = append(ring, orb.Point{float64(i), float64(i)}, orb.Point{float64(i + 1), float64(i)})
	}
	top := float64(steps) + 1
	return Closed(append(ring, orb.Point{float64(steps), top}, orb.Point{0, top})...)
}

// band follows a line and returns parallel to it.
func band(there orb.Ring, beside func(orb.Point) orb.Point) orb.Ring {
	for _, p := range slices.Backward(there) {
		there = append(there, beside(p))
	}
	return Closed(there...)
}

// turned exchanges longitude and latitude.
func turned(ring orb.Ring) orb.Ring {
	for i, p := range ring {
		ring[i] = orb.Point{p[1], p[0]}
	}
	return ring
}
