package repair

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// Overlapping squares in a circle lose area with a library that unites them in pairs.
func TestRepair_S0_8_unites_with_the_right_area(t *testing.T) {
	seed := testrun.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		// The boxes consist of cells, so the covered area can be counted.
		var polygons orb.MultiPolygon
		covered := map[[2]int]bool{}
		for range 2 + random.IntN(20) {
			x, y, w, h := random.IntN(20), random.IntN(20), 1+random.IntN(8), 1+random.IntN(8)
			at := func(i, j int) orb.Point { return orb.Point{float64(i) / 20, float64(j) / 20} }
			polygons = append(polygons, orb.Polygon{rings.Closed(at(x, y), at(x+w, y), at(x+w, y+h), at(x, y+h))})
			for i := range w * h {
				covered[[2]int{x + i%w, y + i/w}] = true
			}
		}
		out := must.Get(Repair(t.Context(), polygons, nil, wide()))(t)
		mustBeValid(t, out.Shape)
		want := float64(len(covered)) / 400
		must.That(t, math.Abs(areaOf(multi(t, out.Shape))-want) <= 1e-12 && (!out.Changed || math.Abs(out.After-want) <= 1e-12), "area %v and %v, want %v: %v", areaOf(multi(t, out.Shape)), out.After, want, polygons)
	}
}

func TestRepair_S0_8_says_what_it_did(t *testing.T) {
	box, bow := rings.Box(0, 0, 4), orb.Ring{{0, 0}, {2, 2}, {2, 0}, {0, 2}, {0, 0}}
	flat := orb.Ring{{1, 1}, {2, 2}, {1, 1}}
	for _, c := range []struct {
		name      string
		in, want  orb.Geometry
		collapsed []string
		before    float64
		after     float64
	}{
		{"valid", orb.Polygon{box}, orb.Polygon{box}, nil, 0, 0},
		{"one_stays_one", orb.Polygon{{{0, 0}, {4, 0}, {6, 0}, {4, 0}, {4, 4}, {0, 4}, {0, 0}}}, orb.Polygon{{{0, 0}, {4, 0}, {4, 4}, {0, 4}, {0, 0}}}, nil, 16, 16},
		{"hole_collapses", orb.Polygon{box, flat}, orb.Polygon{box}, []string{"/coordinates/1"}, 64, 64},
		{"member_collapses", orb.MultiPolygon{{box}, {flat}}, orb.MultiPolygon{{box}}, []string{"/coordinates/1/0"}, 64, 64},
		{"in_a_collection", orb.Collection{orb.Polygon{flat}, orb.Point{1, 2}, orb.Polygon{bow}},
			orb.Collection{orb.Point{1, 2}, orb.MultiPolygon{{{{0, 0}, {1, 1}, {0, 2}, {0, 0}}}, {{{1, 1}, {2, 0}, {2, 2}, {1, 1}}}}}, []string{"/geometries/0/coordinates/0"}, 0, 2},
		{"lines", orb.MultiLineString{{{0, 0}, {0, 0}}, {{0, 0}, {1, 1}}}, orb.MultiLineString{{{0, 0}, {1, 1}}}, []string{"/coordinates/0"}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := must.Get(Repair(t.Context(), c.in, nil, wide()))(t)
			expect.That(t, fmt.Sprint(out.Shape) == fmt.Sprint(c.want) && fmt.Sprint(out.Collapsed) == fmt.Sprint(c.collapsed) && out.Before == c.before && out.After == c.after,
				"got  %v, collapsed %v, area %v to %v\nwant %v, %v, %v to %v", out.Shape, out.Collapsed, out.Before, out.After, c.want, c.collapsed, c.before, c.after)
		})
	}
}

// A geometry that is valid on the grid stays. Any other is snapped close to its place.
func TestSnap_S0_3(t *testing.T) {
	seed := testrun.Seed(t)
	shapes := rings.NewRandom(seed)
	changed := 0
	for i := range 2_000 {
		polygons := shapes.Polygons()
		repaired, err := Repair(t.Context(), polygons, nil, wide())
		if failed, ok := errors.AsType[*Error](err); ok && failed.Reason == NothingLeft {
			continue
		}
		must.Do(t, err)
		decimals := i % 4
		out, err := Snap(t.Context(), repaired.Shape, nil, decimals, wide())
		if failed, ok := errors.AsType[*Error](err); ok && failed.Reason == NothingLeft {
			continue
		}
		must.Do(t, err)
		mustBeValid(t, out.Shape)
		if out.Changed {
			changed++
		}
		length := 0.0
		for _, polygon := range multi(t, repaired.Shape) {
			length += lengthOf(polygon)
		}
		was, is := areaOf(multi(t, repaired.Shape)), areaOf(multi(t, out.Shape))
		cell := math.Pow10(-decimals)
		must.That(t, math.Abs(was-is) <= 2*cell*(length+cell), "the area %v becomes %v on a grid of %v: %v", was, is, cell, polygons)
		again, err := Snap(t.Context(), out.Shape, nil, decimals, wide())
		must.That(t, err == nil && !again.Changed && fmt.Sprint(again.Shape) == fmt.Sprint(out.Shape), "a second time %v becomes %v, %v", out.Shape, again, err)
	}
	expect.That(t, changed >= 150, "only %d were snapped: that proves nothing", changed)
}

func TestRepair_is_bounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	var chords orb.Ring
	for range 300 {
		chords = append(chords, orb.Point{random.Float64(), random.Float64()})
	}
	shape := orb.Polygon{rings.Closed(chords...)}
	for name, c := range map[string]struct {
		limits Limits
		shape  orb.Geometry
		reason Reason
		text   string
	}{
		"crossings": {Limits{1_000, 1_000_000}, shape, TooManyCrossings, "limits.max_crossings"},
		"positions": {Limits{1_000_000, 1_000}, shape, TooManyPositions, "limits.max_output_positions"},
		"nothing":   {wide(), orb.Polygon{{{0, 0}, {1, 1}, {0, 0}}}, NothingLeft, "nothing is left"},
	} {
		_, err := Repair(t.Context(), c.shape, nil, c.limits)
		failed, ok := errors.AsType[*Error](err)
		expect.That(t, ok && failed.Reason == c.reason, "%v: got %v", name, err)
	}
}

// Heights stay with their positions, and new positions have the height of their edge.
func TestRepair_interpolates_heights(t *testing.T) {
	out := must.Get(Repair(t.Context(), orb.Polygon{{{0, 0}, {2, 2}, {2, 0}, {0, 2}, {0, 0}}}, []float64{0, 20, 30, 10, 0}, wide()))(t)
	want := []float64{0, 15, 10, 0, 15, 30, 20, 15}
	expect.That(t, fmt.Sprint(out.Heights) == fmt.Sprint(want), "got %v, want %v", out.Heights, want)
}

// wide returns limits that no test should exceed.
func wide() Limits { return Limits{Crossings: 1_000_000, Positions: 1_000_000} }

// mustBeValid fails the test if a shape is not valid.
func mustBeValid(tb testing.TB, shape orb.Geometry) {
	tb.Helper()
	fault, err := validity.Valid(tb.Context(), shape)
	must.That(tb, err == nil && fault == nil, "%v, %v: %v", fault, err, shape)
}

// sphereArea returns the area of polygons on a sphere of radius 1: exteriors minus holes. Their edges are straight lines
// in longitude and latitude (RFC 7946). The integral of the sine along an edge is exact.
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

// stripArea returns the area between an edge and the equator.
func stripArea(a, b orb.Point) float64 {
	rad := math.Pi / 180
	width, from, to := (b[0]-a[0])*rad, a[1]*rad, b[1]*rad
	if math.Abs(to-from) < 1e-4 {
		return width * (math.Sin(from) + math.Sin((from+to)/2)*4 + math.Sin(to)) / 6
	}
	return width * (math.Cos(from) - math.Cos(to)) / (to - from)
}

// multi returns a shape as a MultiPolygon.
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
