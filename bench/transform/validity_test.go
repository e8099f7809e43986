package transform

import (
	"fmt"
	"testing"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// BenchmarkValidity compares the gates with the validation of the library alone,
// on a polygon that it already has in its own form.
func BenchmarkValidity(b *testing.B) {
	for _, shape := range rings.Shapes() {
		for _, n := range []int{10, 100, 1_000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", shape.Name, n), func(b *testing.B) {
				polygon := libraryPolygon(shape.Ring(n))
				compare(b, gates(b, shape.Ring(n)), func() {
					if err := polygon.Validate(); err != nil {
						b.Fatal(err)
					}
				}, max(1, 1000/n))
			})
		}
	}
}

// BenchmarkValidityCurve is the cost of the gates alone for each corner, which
// shows how it grows.
func BenchmarkValidityCurve(b *testing.B) {
	for _, shape := range rings.Shapes() {
		for _, n := range []int{100, 1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", shape.Name, n), func(b *testing.B) {
				gate := gates(b, shape.Ring(n))
				begin := processCPU()
				for b.Loop() {
					gate()
				}
				b.ReportMetric(float64((processCPU()-begin).Nanoseconds())/float64(b.N)/float64(n), cpuUnit+"/corner")
			})
		}
	}
}

func gates(tb testing.TB, ring orb.Ring) func() {
	tb.Helper()
	// The shapes are no maps: in this system every place on a plane of 20,000 km is one.
	transformer, err := transform.New(transform.Config{Geometry: transform.GeometryRules{SourceCRS: "EPSG:3857"}})
	if err != nil {
		tb.Fatal(err)
	}
	f := &transform.Feature{Geometry: transform.Geometry{Shape: orb.Polygon{ring}}}
	return func() {
		if _, err := transformer.Gate(tb.Context(), f); err != nil {
			tb.Fatal(err)
		}
	}
}

func libraryPolygon(ring orb.Ring) geom.Polygon {
	flat := make([]float64, 0, 2*len(ring))
	for _, p := range ring {
		flat = append(flat, p[0], p[1])
	}
	return geom.NewPolygon([]geom.LineString{geom.NewLineString(geom.NewSequence(flat, geom.DimXY))})
}
