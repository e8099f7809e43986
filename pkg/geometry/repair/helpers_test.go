package repair

import (
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// wide are limits that no test means to exceed.
func wide() Limits { return Limits{Crossings: 1_000_000, Positions: 1_000_000} }

// mustBeValid fails a test whose shape is not valid.
func mustBeValid(tb testing.TB, shape orb.Geometry) {
	tb.Helper()
	fault, err := validity.Valid(tb.Context(), shape)
	must.That(tb, err == nil && fault == nil, "%v, %v: %v", fault, err, shape)
}

// sphereArea is the area of polygons on a sphere of radius 1 whose edges are
// straight lines of longitude and latitude, as RFC 7946 has them: exteriors less
// holes. The integral of the sine along an edge is exact.
func sphereArea(polygons orb.MultiPolygon) float64 {
	area := 0.0
	for _, polygon := range polygons {
		for i, ring := range polygon {
			part := 0.0
			for j := 1; j < len(ring); j++ {
				part += stripArea(ring[j-1], ring[j])
			}
			if part = math.Abs(part); i == 0 {
				area += part
			} else {
				area -= part
			}
		}
	}
	return area
}

// stripArea is the area between an edge and the equator.
func stripArea(a, b orb.Point) float64 {
	rad := math.Pi / 180
	width, from, to := (b[0]-a[0])*rad, a[1]*rad, b[1]*rad
	if math.Abs(to-from) < 1e-4 {
		return width * (math.Sin(from) + math.Sin((from+to)/2)*4 + math.Sin(to)) / 6
	}
	return width * (math.Cos(from) - math.Cos(to)) / (to - from)
}

// multi is a shape as a MultiPolygon.
func multi(tb testing.TB, shape orb.Geometry) orb.MultiPolygon {
	tb.Helper()
	switch shape := shape.(type) {
	case orb.Polygon:
		return orb.MultiPolygon{shape}
	case orb.MultiPolygon:
		return shape
	}
	tb.Fatalf("%T is no polygon", shape)
	return nil
}
