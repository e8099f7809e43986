package grid_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/geometry/grid"
)

func ExampleGrid_round() {
	degrees := grid.Of(6)
	fmt.Println(degrees.Round(47.12345678), degrees.Round(-0.0000005), grid.Finest(180).Decimals())
	// Output: 47.123457 -1e-06 12
}

// A rounded ordinate rounds to itself, and two places on the finest grid are two different doubles.
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
