package repair_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/geometry/coverage"
	"github.com/switchback-geo/switchback/pkg/geometry/noding"
)

// inputOf returns the input for polygons.
func inputOf(polygons orb.MultiPolygon) coverage.Input {
	in := coverage.Input{Polygons: len(polygons)}
	for i, polygon := range polygons {
		for _, ring := range polygon {
			in.Lines = append(in.Lines, coverage.Line{Positions: ring, Ring: len(in.PolygonOf)})
			in.PolygonOf = append(in.PolygonOf, int32(i))
		}
	}
	return in
}

// covered returns the coverage of polygons. reach bounds their ordinates.
func covered(tb testing.TB, polygons orb.MultiPolygon, raster noding.Raster) *coverage.Result {
	tb.Helper()
	out, err := coverage.Of(tb.Context(), inputOf(polygons), raster, noding.Limits{Crossings: 1_000_000})
	must.That(tb, err == nil, "%v: %v", err, polygons)
	return out
}

// oddAnywhere reports whether an odd number of rings of one of the polygons surrounds a place, which is the definition
// of coverage.
func oddAnywhere(polygons orb.MultiPolygon, p orb.Point) bool {
	for _, polygon := range polygons {
		odd := false
		for _, ring := range polygon {
			for i := 1; i < len(ring); i++ {
				a, b := ring[i-1], ring[i]
				if (a[1] > p[1]) != (b[1] > p[1]) && p[0] < a[0]+(p[1]-a[1])/(b[1]-a[1])*(b[0]-a[0]) {
					odd = !odd
				}
			}
		}
		if odd {
			return true
		}
	}
	return false
}

// check compares a result with the definition at random places that are not close to an edge, and with the areas of its
// parts.
func check(tb testing.TB, polygons orb.MultiPolygon, out *coverage.Result, random *rand.Rand, places int, near float64) {
	tb.Helper()
	most, sum := 0.0, 0.0
	for _, part := range out.Parts {
		most, sum = max(most, part), sum+part
	}
	slack := 1e-9 * (sum + 1)
	must.That(tb, out.Area >= most-slack && out.Area <= sum+slack, "area %v of parts %v: %v", out.Area, out.Parts, polygons)
	area := planar.Area(out.Polygons)
	must.That(tb, math.Abs(area-out.Area) <= 1e-9*(sum+1), "area %v, and its rings have %v: %v", out.Area, area, polygons)
	bound := polygons.Bound()
	for range places {
		p := orb.Point{bound.Min[0] + random.Float64()*(bound.Max[0]-bound.Min[0]), bound.Min[1] + random.Float64()*(bound.Max[1]-bound.Min[1])}
		odd, inside := oddAnywhere(polygons, p), planar.MultiPolygonContains(out.Polygons, p)
		must.That(tb, odd == inside || distance(polygons, p) <= near, "%v is inside %v of the rings and %v of the result\nrings %v\nresult %v", p, odd, inside, polygons, out.Polygons)
	}
}

// distance returns the distance of a place from the nearest edge.
func distance(polygons orb.MultiPolygon, p orb.Point) float64 {
	nearest := math.Inf(1)
	for _, polygon := range polygons {
		for _, ring := range polygon {
			for i := 1; i < len(ring); i++ {
				nearest = min(nearest, planar.DistanceFromSegment(ring[i-1], ring[i], p))
			}
		}
	}
	return nearest
}

func TestOf_S0_8_even_odd_and_union(t *testing.T) {
	seed := testrun.Seed(t)
	shapes, random := rings.NewRandom(seed), rand.New(rand.NewPCG(seed, 1))
	for range 4_000 {
		polygons := shapes.Polygons()
		check(t, polygons, covered(t, polygons, noding.Finest(100)), random, 30, 1e-9)
	}
}

func TestOf_S0_3_on_a_grid(t *testing.T) {
	seed := testrun.Seed(t)
	shapes, random := rings.NewRandom(seed), rand.New(rand.NewPCG(seed, 1))
	for i := range 4_000 {
		polygons := shapes.Polygons()
		raster := noding.NewRaster(i%4, 100)
		check(t, polygons, covered(t, polygons, raster), random, 10, 1.5*raster.Cell())
	}
}

// The result reports the rings of which nothing is left and the area of each part.
func TestOf_parts_and_collapsed(t *testing.T) {
	polygons := orb.MultiPolygon{{rings.Box(0, 0, 2), {{0, 0}, {0.1, 0}, {0.1, 0.1}, {0, 0}}}, {rings.Box(1, 0, 2)}, {rings.Box(0.2, 0.2, 0.1)}}
	out := covered(t, polygons, noding.NewRaster(0, 10))
	want := []float64{16, 16, 0}
	expect.That(t, slices.Equal(out.Parts, want) && out.Area == 20, "area %v of parts %v, want %v", out.Area, out.Parts, want)
	if want := []bool{false, true, false, true}; !slices.Equal(out.Collapsed, want) {
		t.Errorf("collapsed %v, want %v", out.Collapsed, want)
	}
}

// If nothing is rounded, positions of the input stay the same to the last bit.
func TestOf_keeps_positions(t *testing.T) {
	third := 1.0 / 3
	polygon := orb.Polygon{{{third, third}, {2 + third, third}, {third, 2 + third}, {2 + third, 2 + third}, {third, third}}}
	out := covered(t, orb.MultiPolygon{polygon}, noding.Finest(3))
	for _, want := range polygon[0] {
		found := false
		for _, p := range out.Polygons {
			found = found || slices.Contains(p[0], want)
		}
		expect.That(t, found, "%v is not in %v", want, out.Polygons)
	}
}

func TestOf_ends_with_its_context(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("no time left")
	cancel(cause)
	_, err := coverage.Of(ctx, inputOf(orb.MultiPolygon{{rings.Star(20_000)}}), noding.Finest(100), noding.Limits{Crossings: 1000})
	expect.That(t, errors.Is(err, cause), "got %v", err)
}
