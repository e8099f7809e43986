package transform

import (
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// BenchmarkOutput compares gates and mapping of a polygon that rounding moves, and
// that is therefore judged once more, with the same of one that rounding does not
// move: ours is the former.
func BenchmarkOutput(b *testing.B) {
	for name, corners := range map[string]int{"12_corners": 12, "100_corners": 100, "1000_corners": 1_000} {
		b.Run(name, func(b *testing.B) {
			six := 6
			config := transform.Config{Geometry: transform.GeometryRules{RoundDecimals: &six}}
			moved, kept := degrees(corners, 1e-9), degrees(corners, 1e-6)
			compare(b, mapped(b, config, moved), mapped(b, config, kept), max(1, 1_000/corners))
		})
	}
}

// degrees is a ring of a size as buildings have it, on a grid.
func degrees(corners int, grid float64) orb.Ring {
	ring := rings.Around(corners, func(i int, _ float64) float64 { return 0.0010001234 + 0.0001*float64(i%3) })
	for i, p := range ring {
		ring[i] = orb.Point{math.Round((9.5+p[0])/grid) * grid, math.Round((47.1+p[1])/grid) * grid}
		if grid == 1e-6 {
			ring[i] = orb.Point{math.Round(ring[i][0]*1e6) / 1e6, math.Round(ring[i][1]*1e6) / 1e6}
		}
	}
	return ring
}

func mapped(tb testing.TB, config transform.Config, ring orb.Ring) func() {
	tb.Helper()
	transformer, err := transform.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	f := &transform.Feature{Geometry: transform.Geometry{Shape: orb.Polygon{ring}}}
	return func() {
		gates, err := transformer.Gate(tb.Context(), f)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := transformer.Map(tb.Context(), f, gates); err != nil {
			tb.Fatal(err)
		}
	}
}
