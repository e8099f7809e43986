package exact_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/geometry/exact"
)

// side computes the side of a point with fractions.
func side(a, b, p orb.Point) int {
	diff := func(x, y float64) *big.Rat {
		return new(big.Rat).Sub(new(big.Rat).SetFloat64(x), new(big.Rat).SetFloat64(y))
	}
	left, right := diff(a[0], p[0]), diff(a[1], p[1])
	return left.Mul(left, diff(b[1], p[1])).Cmp(right.Mul(right, diff(b[0], p[0])))
}

// Side agrees with rational arithmetic on every path through its code. The plain determinant is wrong for some of the
// points.
func TestSide_is_exact(t *testing.T) {
	seed := testrun.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	scales := []float64{1, 180, 1e6, 1e-9, 0x1p-419, 0x1p479, 0x1p-600, 0x1p600, math.SmallestNonzeroFloat64, math.MaxFloat64}
	signs, wrong := map[int]int{}, 0
	for range 20_000 {
		scale := scales[random.IntN(len(scales))]
		point := func() orb.Point { return orb.Point{scale * (random.Float64() - 0.5), scale * (random.Float64() - 0.5)} }
		a, b := point(), point()
		part := random.Float64()
		p := orb.Point{a[0] + part*(b[0]-a[0]), a[1] + part*(b[1]-a[1])} // on the line, except for rounding
		switch random.IntN(4) {
		case 0: // the next double
			p[random.IntN(2)] = math.Nextafter(p[0], math.Inf(1))
		case 1: // at the midpoint, where differences are often exact
			a, b = orb.Point{math.Round(a[0]), math.Round(a[1])}, orb.Point{math.Round(b[0]), math.Round(b[1])}
			p = orb.Point{a[0]/2 + b[0]/2, a[1]/2 + b[1]/2}
		}
		want := side(a, b, p)
		signs[want]++
		plain := (a[0]-p[0])*(b[1]-p[1]) - (a[1]-p[1])*(b[0]-p[0])
		if plain > 0 != (want > 0) || plain < 0 != (want < 0) {
			wrong++
		}
		for _, same := range [...]struct {
			got  int
			form string
		}{{exact.Side(a, b, p), "abp"}, {exact.Side(b, p, a), "bpa"}, {exact.Side(p, a, b), "pab"}, {-exact.Side(b, a, p), "bap"}} {
			must.That(t, same.got == want, "side of %v from %v to %v is %d as %s, and %d in truth", p, a, b, same.got, same.form, want)
		}
	}
	for _, sign := range []int{-1, 0, 1} {
		expect.That(t, signs[sign] >= 500, "only %d answers are %d", signs[sign], sign)
	}
	expect.That(t, wrong >= 500, "doubles do well here, but for %d points: the test proves nothing", wrong)
}
