package transform

import (
	"fmt"
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// coast is a ring with n corners, which wanders like a digitised border: its
// edges are short.
func coast(n int) orb.Ring {
	return around(n, func(i int, angle float64) float64 {
		return 10 + math.Sin(5*angle) + 0.3*math.Sin(41*angle) + math.Sin(float64(i)*7)/float64(n)
	})
}

// thistle is a ring of n spikes, whose edges are as long as the ring is wide: the
// boxes of nearly all edges on one side overlap.
func thistle(n int) orb.Ring {
	return around(n, func(i int, _ float64) float64 { return 10 + 5*math.Sin(float64(i)*7) + float64(i%2) })
}

func around(n int, radius func(i int, angle float64) float64) orb.Ring {
	ring := make(orb.Ring, 0, n+1)
	for i := range n {
		angle := 2 * math.Pi * float64(i) / float64(n)
		ring = append(ring, orb.Point{radius(i, angle) * math.Cos(angle), radius(i, angle) * math.Sin(angle)})
	}
	return append(ring, ring[0])
}

// BenchmarkValidity compares the gates with the validation of the library alone,
// on a polygon that it already has in its own form.
func BenchmarkValidity(b *testing.B) {
	for _, n := range []int{10, 100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("coast/%d", n), func(b *testing.B) { validity(b, coast(n)) })
	}
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("thistle/%d", n), func(b *testing.B) { validity(b, thistle(n)) })
	}
}

func validity(b *testing.B, ring orb.Ring) {
	b.Helper()
	transformer, err := transform.New(transform.Config{})
	if err != nil {
		b.Fatal(err)
	}
	f := &transform.Feature{Geometry: transform.Geometry{Shape: orb.Polygon{ring}}}
	flat := make([]float64, 0, 2*len(ring))
	for _, p := range ring {
		flat = append(flat, p[0], p[1])
	}
	polygon := geom.NewPolygon([]geom.LineString{geom.NewLineString(geom.NewSequence(flat, geom.DimXY))})
	compare(b, func() {
		if err := transformer.Gate(f); err != nil {
			b.Fatal(err)
		}
	}, func() {
		if err := polygon.Validate(); err != nil {
			b.Fatal(err)
		}
	}, max(1, 1000/len(ring)))
}
