package repair

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// cut cuts a shape that can be cut.
func cut(tb testing.TB, shape orb.Geometry, heights ...float64) *Result {
	tb.Helper()
	out, err := Cut(tb.Context(), shape, heights, wide())
	must.That(tb, err == nil, "%v: %v", err, shape)
	return out
}

func TestCut_RFC7946_3_1_9(t *testing.T) {
	for _, c := range []struct {
		name     string
		in, want orb.Geometry
	}{
		{"box", orb.Polygon{{{170, -10}, {-170, -10}, {-170, 10}, {170, 10}, {170, -10}}},
			orb.MultiPolygon{{{{-180, -10}, {-170, -10}, {-170, 10}, {-180, 10}, {-180, -10}}}, {{{170, -10}, {180, -10}, {180, 10}, {170, 10}, {170, -10}}}}},
		{"hole_beyond", orb.Polygon{{{170, -10}, {-170, -10}, {-170, 10}, {170, 10}, {170, -10}}, {{-175, -5}, {-175, 5}, {-172, 5}, {-175, -5}}},
			orb.MultiPolygon{{{{-180, -10}, {-170, -10}, {-170, 10}, {-180, 10}, {-180, -10}}, {{-175, -5}, {-175, 5}, {-172, 5}, {-175, -5}}}, {{{170, -10}, {180, -10}, {180, 10}, {170, 10}, {170, -10}}}}},
		{"hole_across", orb.Polygon{{{170, -10}, {-170, -10}, {-170, 10}, {170, 10}, {170, -10}}, {{175, -5}, {175, 5}, {-175, 5}, {-175, -5}, {175, -5}}},
			orb.MultiPolygon{{{{-180, -10}, {-170, -10}, {-170, 10}, {-180, 10}, {-180, 5}, {-175, 5}, {-175, -5}, {-180, -5}, {-180, -10}}}, {{{170, -10}, {180, -10}, {180, -5}, {175, -5}, {175, 5}, {180, 5}, {180, 10}, {170, 10}, {170, -10}}}}},
		{"ring_around_the_pole", orb.Polygon{{{0, 60}, {120, 60}, {-120, 60}, {0, 60}}},
			orb.Polygon{{{-180, 60}, {-120, 60}, {0, 60}, {120, 60}, {180, 60}, {180, 90}, {-180, 90}, {-180, 60}}}},
		{"band_around_the_pole", orb.Polygon{{{0, -60}, {120, -60}, {-120, -60}, {0, -60}}, {{0, -80}, {120, -80}, {-120, -80}, {0, -80}}},
			orb.Polygon{{{-180, -80}, {-120, -80}, {0, -80}, {120, -80}, {180, -80}, {180, -60}, {120, -60}, {0, -60}, {-120, -60}, {-180, -60}, {-180, -80}}}},
		{"touches_the_meridian_from_both_sides", orb.Polygon{{{170, -10}, {180, -10}, {-180, -10}, {-170, -10}, {-170, 10}, {-180, 10}, {180, 10}, {170, 10}, {170, -10}}},
			orb.MultiPolygon{{{{-180, -10}, {-170, -10}, {-170, 10}, {-180, 10}, {-180, -10}}}, {{{170, -10}, {180, -10}, {180, 10}, {170, 10}, {170, -10}}}}},
		{"polygons_in_two_frames_overlap", orb.MultiPolygon{{{{170, -10}, {-170, -10}, {-170, 10}, {170, 10}, {170, -10}}}, {{{-175, 0}, {-165, 0}, {-165, 5}, {-175, 5}, {-175, 0}}}},
			orb.MultiPolygon{{{{-180, -10}, {-170, -10}, {-170, 0}, {-165, 0}, {-165, 5}, {-170, 5}, {-170, 10}, {-180, 10}, {-180, -10}}}, {{{170, -10}, {180, -10}, {180, 10}, {170, 10}, {170, -10}}}}},
		{"wedge_at_the_pole", orb.Polygon{{{170, 80}, {-170, 80}, {-170, 90}, {170, 90}, {170, 80}}},
			orb.MultiPolygon{{{{-180, 80}, {-170, 80}, {-170, 90}, {-180, 90}, {-180, 80}}}, {{{170, 80}, {180, 80}, {180, 90}, {170, 90}, {170, 80}}}}},
		{"runs_along_the_meridian_on_both_sides", orb.Polygon{{{-180, -17}, {-180, -16}, {-170, -16}, {-170, -10}, {-180, -10}, {-180, -9}, {180, -9}, {180, -10}, {170, -10}, {170, -16}, {180, -16}, {180, -17}, {-180, -17}}},
			orb.MultiPolygon{{{{-180, -16}, {-170, -16}, {-170, -10}, {-180, -10}, {-180, -16}}}, {{{170, -16}, {180, -16}, {180, -10}, {170, -10}, {170, -16}}}}},
		{"corner_in_the_pole", orb.Polygon{{{14, -42}, {60, -42}, {-140, 90}, {14, -42}}},
			orb.MultiPolygon{{{{-180, 57}, {-140, 90}, {-180, 90}, {-180, 57}}}, {{{-140, 90}, {14, -42}, {60, -42}, {180, 57}, {180, 90}, {-140, 90}}}}},
		{"line", orb.LineString{{170, 0}, {-170, 10}}, orb.MultiLineString{{{170, 0}, {180, 5}}, {{-180, 5}, {-170, 10}}}},
		{"line_that_ends_there", orb.LineString{{170, 0}, {-180, 10}}, orb.LineString{{170, 0}, {180, 10}}},
		{"line_to_and_fro", orb.LineString{{170, 0}, {-170, 0}, {170, 2}}, orb.MultiLineString{{{170, 0}, {180, 0}}, {{-180, 0}, {-170, 0}, {-180, 1}}, {{180, 1}, {170, 2}}}},
		{"line_along_it", orb.LineString{{180, 0}, {-180, 10}}, orb.LineString{{-180, 0}, {-180, 10}}},
		{"line_that_follows_it", orb.LineString{{170, 0}, {-180, 1}, {180, 2}, {-170, 3}}, orb.MultiLineString{{{170, 0}, {180, 1}, {180, 2}}, {{-180, 2}, {-170, 3}}}},
		{"line_without_positions", orb.MultiLineString{{}, {{170, 0}, {-170, 10}}}, orb.MultiLineString{{}, {{170, 0}, {180, 5}}, {{-180, 5}, {-170, 10}}}},
		{"line_by_way_of_both_sides", orb.LineString{{170, 0}, {180, 0}, {-180, 0}, {-170, 0}}, orb.MultiLineString{{{170, 0}, {180, 0}}, {{-180, 0}, {-170, 0}}}},
		{"points", orb.MultiPoint{{180, 0}, {-180, 0}}, orb.MultiPoint{{180, 0}, {-180, 0}}},
		{
			"collection",
			orb.Collection{orb.Point{-180, 1}, orb.LineString{{179, 0}, {-179, 0}}, orb.Polygon{{{0, 0}, {1, 0}, {1, 1}, {0, 0}}}},
			orb.Collection{orb.Point{-180, 1}, orb.MultiLineString{{{179, 0}, {180, 0}}, {{-180, 0}, {-179, 0}}}, orb.Polygon{{{0, 0}, {1, 0}, {1, 1}, {0, 0}}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := cut(t, c.in)
			expect.That(t, fmt.Sprint(out.Shape) == fmt.Sprint(c.want), "got  %v\nwant %v", out.Shape, c.want)
			expect.That(t, !Crosses(out.Shape) && out.Unsure == "" && len(out.Collapsed) == 0, "crosses again %v, unsure %q, collapsed %v", Crosses(out.Shape), out.Unsure, out.Collapsed)
		})
	}
}

// A geometry with edges on the meridian or along a pole is already cut.
func TestCrosses_what_was_cut_before_does_not(t *testing.T) {
	for name, shape := range map[string]orb.Geometry{
		"cap":        orb.Polygon{{{-180, -90}, {180, -90}, {180, -80}, {-180, -80}, {-180, -90}}},
		"world":      orb.Polygon{{{-180, -90}, {180, -90}, {180, 90}, {-180, 90}, {-180, -90}}},
		"antarctica": orb.Polygon{{{-180, -90}, {180, -90}, {180, -84}, {90, -70}, {0, -65}, {-90, -70}, {-180, -84}, {-180, -90}}},
		"half":       orb.Polygon{{{-180, 0}, {0, 0}, {0, 10}, {-180, 10}, {-180, 0}}},
		"line":       orb.LineString{{180, 0}, {-180, 0}},
		"parallel":   orb.LineString{{-180, 5}, {180, 5}},
		"points":     orb.MultiPoint{{170, 0}, {-170, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			expect.That(t, !Crosses(shape), "crosses")
			out := cut(t, shape)
			expect.That(t, !out.Changed && fmt.Sprint(out.Shape) == fmt.Sprint(shape), "becomes %v", out.Shape)
		})
	}
}

// The parts have the same area on the sphere as the same polygon far from the meridian or around the pole.
func TestCut_keeps_the_area_on_the_sphere(t *testing.T) {
	seed := testrun.Seed(t)
	random, shapes := rand.New(rand.NewPCG(seed, 0)), rings.NewRandom(seed)
	crossed := 0
	for range 3_000 {
		shape := shapes.Polygons()
		lat := random.Float64()*80 - 60
		for _, polygon := range shape {
			for _, ring := range polygon {
				for i := range ring {
					ring[i][0], ring[i][1] = ring[i][0]-20, max(-90, min(90, ring[i][1]/2+lat))
				}
			}
		}
		far, err := Repair(t.Context(), shape, nil, wide())
		if failed, ok := errors.AsType[*Error](err); ok && failed.Reason == NothingLeft {
			continue
		}
		must.Do(t, err)
		near := shape.Clone()
		for _, polygon := range near {
			for _, ring := range polygon {
				for i := range ring {
					if ring[i][0] += 180; ring[i][0] > 180 {
						ring[i][0] -= 360
					}
				}
			}
		}
		if !Crosses(near) {
			continue
		}
		crossed++
		out := cut(t, near)
		mustBeValid(t, out.Shape)
		want, got := sphereArea(multi(t, far.Shape)), sphereArea(multi(t, out.Shape))
		must.That(t, math.Abs(want-got) <= 1e-9*want, "the area is %v and becomes %v: %v", want, got, near)
		must.That(t, !far.Changed || math.Abs(far.Sphere.After-want) <= 1e-9*want && math.Abs(far.Sphere.Before-out.Sphere.Before) <= 1e-9*want && math.Abs(far.Sphere.After-out.Sphere.After) <= 1e-9*want,
			"on the sphere %v, and across the meridian %v, where the result has %v: %v", far.Sphere, out.Sphere, want, near)
		again := cut(t, out.Shape)
		must.That(t, !again.Changed, "cut twice: %v", near)
	}
	expect.That(t, crossed >= 1_000, "only %d cross", crossed)
}

// A ring around a pole surrounds the smaller part of the sphere, with its holes.
func TestCut_keeps_the_area_around_a_pole(t *testing.T) {
	seed := testrun.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 2_000 {
		sign := float64(1 - 2*random.IntN(2))
		n := 5 + random.IntN(40)
		ring, south := make(orb.Ring, n, n+1), 0.0
		begin := random.Float64() * 360
		for i := range ring {
			ring[i] = orb.Point{math.Remainder(begin+360*float64(i)/float64(n), 360), sign * (30 + 50*random.Float64())}
		}
		ring = rings.Closed(ring...)
		for i := 1; i <= n; i++ {
			south += stripArea(orb.Point{0, ring[i-1][1]}, orb.Point{360 / float64(n), ring[i][1]})
		}
		want := 2*math.Pi - math.Abs(south)
		polygon := orb.Polygon{ring}
		if random.IntN(2) == 0 {
			polygon[0].Reverse()
		}
		if random.IntN(2) == 0 { // closer to the pole than the ring
			lon := random.Float64()*360 - 180
			hole := rings.Closed(
				orb.Point{lon, sign * 86}, orb.Point{math.Remainder(lon+20, 360), sign * 86}, orb.Point{math.Remainder(lon+10, 360), sign * 88},
			)
			polygon = append(polygon, hole)
			want -= math.Abs(stripArea(orb.Point{0, 86}, orb.Point{20, 86}) + stripArea(orb.Point{20, 86}, orb.Point{10, 88}) + stripArea(orb.Point{10, 88}, orb.Point{0, 86}))
		}
		out := cut(t, polygon)
		mustBeValid(t, out.Shape)
		got := sphereArea(multi(t, out.Shape))
		must.That(t, math.Abs(got-want) <= 1e-9*want, "the area is %v and becomes %v: %v\n%v", want, got, polygon, out.Shape)
		must.That(t, out.Unsure == "", "unsure of %v", polygon)
	}
}

func TestCut_is_unsure_of_rings_around_a_pole_that_are_not_valid(t *testing.T) {
	pole := orb.Ring{{0, 60}, {60, 60}, {120, 60}, {-120, 60}, {-60, 60}, {0, 60}}
	for name, shape := range map[string]orb.Polygon{
		"crosses_itself": {{{0, 60}, {60, 60}, {50, 70}, {50, 50}, {120, 60}, {-120, 60}, {0, 60}}},
		"hole_outside":   {pole, {{10, 10}, {20, 10}, {10, 20}, {10, 10}}},
		"hole_in_a_hole": {pole, {{0, 70}, {40, 70}, {40, 80}, {0, 80}, {0, 70}}, {{10, 72}, {20, 72}, {20, 78}, {10, 72}}},
		"spike":          {{{0, 60}, {60, 60}, {60, 50}, {60, 60}, {120, 60}, {-120, 60}, {0, 60}}},
		"hole_touches":   {pole, {{60, 60}, {65, 70}, {55, 70}, {60, 60}}}, // valid, but that cannot be told
	} {
		t.Run(name, func(t *testing.T) {
			out := cut(t, shape)
			expect.That(t, out.Unsure == "/coordinates", "unsure %q of %v", out.Unsure, out.Shape)
		})
	}
}

// Positions on the meridian have the height of the edge there.
func TestCut_interpolates_heights(t *testing.T) {
	out := cut(t, orb.LineString{{170, 0}, {-170, 10}}, 100, 200)
	want := []float64{100, 150, 150, 200}
	expect.That(t, slices.Equal(out.Heights, want), "line: %v, want %v", out.Heights, want)
	out = cut(t, orb.Polygon{{{170, -10}, {-170, -10}, {-170, 10}, {170, 10}, {170, -10}}}, 0, 20, 60, 40, 0)
	want = []float64{10, 20, 60, 50, 10, 0, 10, 50, 40, 0} // the part west of the meridian comes first
	expect.That(t, slices.Equal(out.Heights, want), "polygon: %v, want %v of %v", out.Heights, want, out.Shape)
}
