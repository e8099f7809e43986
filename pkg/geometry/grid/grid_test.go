package grid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

func ExampleGrid_Round() {
	degrees := Of(6)
	fmt.Println(degrees.Round(47.12345678), degrees.Round(-0.0000005), Finest(180).Decimals())
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
		g := Of(random.IntN(MaxDecimals + 1))
		if once := g.Round(x); g.Round(once) != once || math.Abs(once-x) > g.Cell()*0.5+2e-16*math.Abs(x) {
			t.Fatalf("%v becomes %v, then %v with %d decimals", x, once, g.Round(once), g.Decimals())
		}
		finest := Finest(reach)
		units, ok := finest.Units(x)
		if !ok || math.Abs(units) > mostUnits {
			t.Fatalf("%v has %v units with %d decimals", x, units, finest.Decimals())
		}
		if again, _ := finest.Units(finest.Value(units)); again != units || finest.Value(units) == finest.Value(units+1) {
			t.Fatalf("place %v of %d decimals is not told apart", units, finest.Decimals())
		}
	}
}

func TestGrid_what_has_no_such_decimals_stays(t *testing.T) {
	for _, x := range []float64{math.Inf(1), math.NaN(), 1e300, 179.123456789012345} {
		got := Of(15).Round(x)
		expect.That(t, got == x || math.IsNaN(x), "%v becomes %v", x, got)
	}
	d := Finest(1e300).Decimals()
	expect.That(t, d < 0, "the finest grid of 1e300 has %d decimals", d)
	expect.Equal(t, Finest(0).Decimals(), MaxDecimals, "the finest grid of 0")
}
