package noding_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/geometry/exact"
	"github.com/switchback-geo/switchback/pkg/geometry/grid"
	"github.com/switchback-geo/switchback/pkg/geometry/sweep"
)

// These are the tests of the packages that nodes are computed with: exact, grid and sweep.

// side is the side of a point by fractions.
func side(a, b, p orb.Point) int {
	diff := func(x, y float64) *big.Rat {
		return new(big.Rat).Sub(new(big.Rat).SetFloat64(x), new(big.Rat).SetFloat64(y))
	}
	left, right := diff(a[0], p[0]), diff(a[1], p[1])
	return left.Mul(left, diff(b[1], p[1])).Cmp(right.Mul(right, diff(b[0], p[0])))
}

// The exact answer is that of rational numbers, whatever way it is found. The determinant in doubles is wrong for some of the points.
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
		p := orb.Point{a[0] + part*(b[0]-a[0]), a[1] + part*(b[1]-a[1])} // on the line, but for rounding
		switch random.IntN(4) {
		case 0: // the next double
			p[random.IntN(2)] = math.Nextafter(p[0], math.Inf(1))
		case 1: // in the middle, where differences are often exact
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

func ExampleGrid_round() {
	degrees := grid.Of(6)
	fmt.Println(degrees.Round(47.12345678), degrees.Round(-0.0000005), grid.Finest(180).Decimals())
	// Output: 47.123457 -1e-06 12
}

// A rounded ordinate rounds to itself, and two places on the finest grid are two
// doubles.
func TestGrid_rounding_is_stable(t *testing.T) {
	seed := testrun.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 100_000 {
		reach := math.Pow10(random.IntN(12) - 3)
		x := reach * (2*random.Float64() - 1)
		g := grid.Of(random.IntN(grid.MaxDecimals + 1))
		once := g.Round(x)
		must.That(t, g.Round(once) == once && math.Abs(once-x) <= g.Cell()*0.5+2e-16*math.Abs(x), "%v becomes %v, then %v with %d decimals", x, once, g.Round(once), g.Decimals())
		finest := grid.Finest(reach)
		units, ok := finest.Units(x)
		must.That(t, ok && math.Abs(units) <= 1<<48, "%v has %v units with %d decimals", x, units, finest.Decimals())
		again, _ := finest.Units(finest.Value(units))
		must.That(t, again == units && finest.Value(units) != finest.Value(units+1), "place %v of %d decimals is not told apart", units, finest.Decimals())
	}
}

func TestGrid_what_has_no_such_decimals_stays(t *testing.T) {
	for _, x := range []float64{math.Inf(1), math.NaN(), 1e300, 179.123456789012345} {
		got := grid.Of(15).Round(x)
		expect.That(t, got == x || math.IsNaN(x), "%v becomes %v", x, got)
	}
	d := grid.Finest(1e300).Decimals()
	expect.That(t, d < 0, "the finest grid of 1e300 has %d decimals", d)
	expect.Equal(t, grid.Finest(0).Decimals(), grid.MaxDecimals, "the finest grid of 0")
}

// The status is held against a slice: after each change the list, the tree and the
// neighbours say the same.
func TestStatus_keeps_the_order(t *testing.T) {
	seed := testrun.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	status := sweep.New(nil)
	var want []int32  // items from south to north
	var nodes []int32 // their nodes
	for item := range int32(2_000) {
		if len(want) > 0 && random.IntN(3) == 0 {
			i := random.IntN(len(want))
			status.Remove(nodes[i])
			want, nodes = slices.Delete(want, i, i+1), slices.Delete(nodes, i, i+1)
		} else {
			i, under := random.IntN(len(want)+1), sweep.None
			if i > 0 {
				under = nodes[i-1]
			}
			want, nodes = slices.Insert(want, i, item), slices.Insert(nodes, i, status.InsertAbove(under, item))
		}
		if item%50 == 0 {
			checkStatus(t, status, want, nodes)
		}
	}
}

func checkStatus(t *testing.T, status *sweep.Status, want, nodes []int32) {
	t.Helper()
	var list, tree []int32
	for n := status.First(); n != sweep.None; n = status.Next(n) {
		list = append(list, status.Item(n))
	}
	var walk func(n int32)
	walk = func(n int32) {
		if n == sweep.None {
			return
		}
		walk(status.Left(n))
		tree = append(tree, status.Item(n))
		walk(status.Right(n))
	}
	walk(status.Root())
	must.That(t, slices.Equal(list, want) && slices.Equal(tree, want), "list %v, tree %v, want %v", list, tree, want)
	prev := sweep.None
	for _, n := range nodes {
		must.That(t, status.Prev(n) == prev, "the node south of %d is %d, want %d", n, status.Prev(n), prev)
		prev = n
	}
}
