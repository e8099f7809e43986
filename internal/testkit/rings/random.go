package rings

import (
	"math"
	"math/rand/v2"

	"github.com/paulmach/orb"
)

// Random draws random polygons. Half of them have their corners on a grid, where rings often touch in a corner or share
// an edge.
type Random struct{ rand *rand.Rand }

// NewRandom returns a Random that draws the same polygons for the same seed.
func NewRandom(seed uint64) Random { return Random{rand.New(rand.NewPCG(seed, 0))} }

// Polygons returns one to three polygons with up to three holes each, about a quarter of them valid. Every ring is
// closed, has at least four positions, and winds either way; some repeat a position.
func (r Random) Polygons() orb.MultiPolygon {
	grid := r.rand.IntN(2) == 0
	var out orb.MultiPolygon
	for range 1 + r.rand.IntN(3)*r.rand.IntN(2) {
		x, y := r.place(grid, 40), r.place(grid, 40)
		polygon := orb.Polygon{r.ring(x, y, 12, grid)}
		for range r.rand.IntN(4) {
			polygon = append(polygon, r.ring(x+r.place(grid, 10)-5, y+r.place(grid, 10)-5, 3, grid))
		}
		out = append(out, polygon)
	}
	return out
}

// Line returns a walk of two to nine positions, often on a grid, sometimes closed.
func (r Random) Line() orb.LineString {
	grid := r.rand.IntN(2) == 0
	var line orb.LineString
	for range 2 + r.rand.IntN(8) {
		line = append(line, orb.Point{r.place(grid, 9), r.place(grid, 9)})
	}
	if r.rand.IntN(3) == 0 {
		line = append(line, line[0])
	}
	return line
}

func (r Random) place(grid bool, width float64) float64 {
	x := r.rand.Float64() * width
	if grid {
		return math.Floor(x)
	}
	return x
}

// ring returns a tangle, a box or a star.
func (r Random) ring(x, y, size float64, grid bool) orb.Ring {
	var ring orb.Ring
	switch r.rand.IntN(4) {
	case 0:
		for range 3 + r.rand.IntN(4) {
			ring = append(ring, orb.Point{x + (r.rand.Float64()*2-1)*size, y + (r.rand.Float64()*2-1)*size})
		}
	case 1:
		ring = Box(x, y, size*(0.3+0.7*r.rand.Float64()))[:4]
	default:
		n := 3 + r.rand.IntN(20)
		ring = Around(n, func(int, float64) float64 { return size * (0.4 + 0.6*r.rand.Float64()) })[:n]
		for i, p := range ring {
			ring[i] = orb.Point{x + p[0], y + p[1]}
		}
	}
	if grid {
		for i, p := range ring {
			ring[i] = orb.Point{math.Round(p[0]), math.Round(p[1])}
		}
	}
	if r.rand.IntN(8) == 0 {
		ring = append(ring, ring[len(ring)-1])
	}
	if r.rand.IntN(2) == 0 {
		ring.Reverse()
	}
	return Closed(ring...)
}
