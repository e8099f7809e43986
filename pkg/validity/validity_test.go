package validity_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// ring returns a ring for a list of ordinates.
func ring(ordinates ...float64) orb.Ring {
	var points orb.Ring
	for i := 0; i < len(ordinates); i += 2 {
		points = append(points, orb.Point{ordinates[i], ordinates[i+1]})
	}
	return rings.Closed(points...)
}

func TestValid_S0_8(t *testing.T) {
	box := rings.Box(5, 5, 5) // from 0 to 10
	for _, c := range []struct {
		name  string
		shape orb.Geometry
		rule  validity.Rule // "" for a valid shape
		path  string
		at    orb.Point
	}{
		{"empty", orb.Polygon{}, "", "", orb.Point{}},
		{"point", orb.Point{1, 2}, "", "", orb.Point{}},
		{"line_that_crosses_itself", orb.LineString{{0, 0}, {2, 2}, {2, 0}, {0, 2}}, "", "", orb.Point{}},
		{"line_of_one_point", orb.MultiLineString{{{0, 0}, {1, 1}}, {{3, 4}, {3, 4}}}, validity.OneDistinctPoint, "/coordinates/1", orb.Point{3, 4}},
		{"box", orb.Polygon{box}, "", "", orb.Point{}},
		{"positions_repeated", orb.Polygon{ring(0, 0, 0, 0, 4, 0, 4, 4, 4, 4, 4, 4, 0, 0)}, "", "", orb.Point{}},

		{"ring_without_positions", orb.Polygon{box, {}}, validity.RingLength, "/coordinates/1", orb.Point{}},
		{"ring_not_closed", orb.Polygon{{{0, 0}, {1, 0}, {1, 1}, {0, 1}}}, validity.RingClosed, "/coordinates/0", orb.Point{0, 0}},
		{"ring_of_one_point", orb.Polygon{ring(1, 1, 1, 1, 1, 1)}, validity.OneDistinctPoint, "/coordinates/0", orb.Point{1, 1}},
		{"ring_of_two_points", orb.Polygon{ring(0, 0, 1, 1, 0, 0)}, validity.RingNotSimple, "/coordinates/0", orb.Point{0, 0}},
		{"ring_without_area", orb.Polygon{ring(0, 0, 1, 1, 2, 2)}, validity.RingNotSimple, "/coordinates/0", orb.Point{0, 0}},
		{"bow_tie", orb.Polygon{ring(0, 0, 2, 2, 2, 0, 0, 2)}, validity.RingNotSimple, "/coordinates/0", orb.Point{1, 1}},
		{"spike", orb.Polygon{ring(0, 0, 4, 0, 4, 4, 6, 6, 4, 4, 0, 4)}, validity.RingNotSimple, "/coordinates/0", orb.Point{4, 4}},
		{"spike_to_the_west", orb.Polygon{ring(0, 0, 4, 0, 4, 4, 0, 4, 0, 2, -3, 2, 0, 2)}, validity.RingNotSimple, "/coordinates/0", orb.Point{-3, 2}},
		{"ring_touches_itself_at_a_corner", orb.Polygon{ring(0, 0, 8, 0, 4, 4, 8, 8, 0, 8, 4, 4)}, validity.RingNotSimple, "/coordinates/0", orb.Point{4, 4}},
		{"ring_touches_itself_at_an_edge", orb.Polygon{ring(0, 0, 4, 0, 4, 4, 2, 0, 0, 4)}, validity.RingNotSimple, "/coordinates/0", orb.Point{2, 0}},
		{"hole_drawn_with_the_exterior", orb.Polygon{ring(0, 0, 10, 0, 10, 10, 0, 10, 0, 0, 2, 4, 4, 4, 4, 2)}, validity.RingNotSimple, "/coordinates/0", orb.Point{0, 0}},

		{"hole", orb.Polygon{box, rings.Box(5, 5, 1)}, "", "", orb.Point{}},
		{"hole_touches_at_a_corner", orb.Polygon{box, ring(0, 0, 3, 2, 2, 3)}, "", "", orb.Point{}},
		{"hole_touches_at_an_edge", orb.Polygon{box, ring(0, 5, 3, 4, 3, 6)}, "", "", orb.Point{}},
		{"exterior_touches_hole_at_an_edge", orb.Polygon{ring(0, 0, 10, 0, 10, 10, 5, 6, 0, 10), rings.Box(5, 5, 1)}, "", "", orb.Point{}},
		{"hole_touches_hole", orb.Polygon{box, ring(1, 1, 5, 5, 1, 5), ring(9, 9, 5, 5, 9, 5)}, "", "", orb.Point{}},
		{"three_holes_at_one_point", orb.Polygon{box, ring(5, 5, 6, 8, 4, 8), ring(5, 5, 2, 4, 2, 2), ring(5, 5, 8, 2, 8, 4)}, "", "", orb.Point{}},
		{"hole_shares_an_edge", orb.Polygon{box, ring(0, 3, 3, 3, 3, 6, 0, 6)}, validity.RingsTouch, "/coordinates/1", orb.Point{0, 3}},
		{"hole_is_the_exterior", orb.Polygon{box, box}, validity.RingsTouch, "/coordinates/1", orb.Point{0, 0}},
		{"hole_crosses", orb.Polygon{box, rings.Box(10, 5, 1)}, validity.RingsTouch, "/coordinates/1", orb.Point{10, 4}},
		{"hole_crosses_in_corners", orb.Polygon{box, ring(5, 5, 10, 10, 15, 5, 10, 0)}, validity.RingsTouch, "/coordinates/1", orb.Point{10, 0}},
		{"hole_touches_twice", orb.Polygon{box, ring(0, 5, 5, 4, 10, 5, 5, 6)}, validity.RingsTouch, "/coordinates/1", orb.Point{10, 5}},
		{"holes_cut_the_interior", orb.Polygon{box, ring(0, 5, 5, 5, 5, 6), ring(10, 5, 5, 5, 5, 4)}, validity.InteriorDisconnected, "/coordinates/2", orb.Point{10, 5}},
		{"holes_in_a_circle", orb.Polygon{box, ring(2, 2, 8, 2, 5, 1), ring(8, 2, 5, 8, 8, 8), ring(5, 8, 2, 2, 2, 8)}, validity.InteriorDisconnected, "/coordinates/2", orb.Point{8, 2}},
		{"hole_in_a_hole", orb.Polygon{box, rings.Box(5, 5, 3), rings.Box(5, 5, 1)}, validity.NestedRings, "/coordinates/2", orb.Point{4, 4}},
		{"hole_around_a_hole", orb.Polygon{box, rings.Box(5, 5, 1), rings.Box(5, 5, 3)}, validity.NestedRings, "/coordinates/1", orb.Point{4, 4}},
		{"hole_outside", orb.Polygon{box, rings.Box(20, 5, 1)}, validity.HoleOutside, "/coordinates/1", orb.Point{19, 4}},
		{"hole_outside_touches", orb.Polygon{box, ring(10, 5, 12, 4, 12, 6)}, validity.HoleOutside, "/coordinates/1", orb.Point{10, 5}},
		{"hole_around_the_exterior", orb.Polygon{rings.Box(5, 5, 1), box}, validity.HoleOutside, "/coordinates/1", orb.Point{0, 0}},

		{"polygons_apart", orb.MultiPolygon{{box}, {}, {rings.Box(20, 5, 1)}}, "", "", orb.Point{}},
		{"polygons_touch_in_two_points", orb.MultiPolygon{{ring(0, 0, 4, 0, 4, 9, 0, 9)}, {ring(4, 1, 6, 2, 4, 8, 8, 8, 8, 1)}}, "", "", orb.Point{}},
		{"polygon_in_a_hole", orb.MultiPolygon{{rings.Box(5, 5, 1)}, {box, rings.Box(5, 5, 3)}}, "", "", orb.Point{}},
		{"polygon_in_a_hole_touches_all_around", orb.MultiPolygon{{box, rings.Box(5, 5, 3)}, {ring(2, 5, 5, 2, 8, 5, 5, 8)}}, "", "", orb.Point{}},
		{"polygon_fills_a_hole", orb.MultiPolygon{{box, rings.Box(5, 5, 3)}, {rings.Box(5, 5, 3)}}, validity.PolygonsOverlap, "/coordinates/1/0", orb.Point{2, 2}},
		{"polygons_share_an_edge", orb.MultiPolygon{{box}, {rings.Box(15, 5, 5)}}, validity.PolygonsOverlap, "/coordinates/1/0", orb.Point{10, 0}},
		{"polygons_cross", orb.MultiPolygon{{box}, {rings.Box(10, 5, 1)}}, validity.PolygonsOverlap, "/coordinates/1/0", orb.Point{10, 4}},
		{"polygon_in_a_polygon", orb.MultiPolygon{{rings.Box(5, 5, 1)}, {box}}, validity.PolygonsOverlap, "/coordinates/0/0", orb.Point{4, 4}},
		{"polygon_in_a_polygon_touches", orb.MultiPolygon{{box}, {ring(0, 5, 5, 2, 5, 8)}}, validity.PolygonsOverlap, "/coordinates/1/0", orb.Point{0, 5}},
		{"hole_of_the_other_polygon", orb.MultiPolygon{{box}, {rings.Box(20, 5, 5), rings.Box(5, 5, 1)}}, validity.HoleOutside, "/coordinates/1/1", orb.Point{4, 4}},
		{"in_a_collection", orb.Collection{orb.Point{}, orb.Polygon{ring(0, 0, 2, 2, 2, 0, 0, 2)}}, validity.RingNotSimple, "/geometries/1/coordinates/0", orb.Point{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fault := judged(t, c.shape)
			switch {
			case fault == nil && c.rule == "":
			case fault == nil || fault.Rule != c.rule || fault.Path != c.path:
				t.Errorf("got %v, want %s (%s)", fault, c.rule, c.path)
			case fault.At != c.at && c.rule != validity.RingLength:
				t.Errorf("at %v, want %v", fault.At, c.at)
			}
		})
	}
}

func TestSimple_S0_8(t *testing.T) {
	for _, c := range []struct {
		name  string
		shape orb.Geometry
		path  string // "" for a simple shape
		at    orb.Point
	}{
		{"open", orb.LineString{{0, 0}, {1, 0}, {1, 1}}, "", orb.Point{}},
		{"closed", orb.LineString{{0, 0}, {1, 0}, {1, 1}, {0, 0}}, "", orb.Point{}},
		{"positions_repeated", orb.LineString{{0, 0}, {0, 0}, {1, 0}, {1, 0}, {1, 1}, {0, 0}, {0, 0}}, "", orb.Point{}},
		{"one_point", orb.LineString{{1, 1}, {1, 1}}, "", orb.Point{}},
		{"crosses", orb.LineString{{0, 0}, {2, 2}, {2, 0}, {0, 2}}, "/coordinates", orb.Point{1, 1}},
		{"ends_on_itself", orb.LineString{{0, 0}, {4, 0}, {4, 4}, {2, 0}}, "/coordinates", orb.Point{2, 0}},
		{"begins_in_its_own_corner", orb.LineString{{2, 2}, {0, 0}, {2, 2}, {4, 2}}, "/coordinates", orb.Point{0, 0}},
		{"runs_back", orb.LineString{{0, 0}, {4, 0}, {2, 0}}, "/coordinates", orb.Point{2, 0}},
		{"loop_with_a_tail", orb.LineString{{0, 0}, {4, 0}, {4, 4}, {4, 0}, {0, 0}}, "/coordinates", orb.Point{0, 0}},
		{"lines_that_cross_each_other", orb.MultiLineString{{{0, 0}, {2, 2}}, {{2, 0}, {0, 2}}}, "", orb.Point{}},
		{"second_line", orb.MultiLineString{{{0, 0}, {2, 2}}, {{0, 0}, {2, 2}, {2, 0}, {0, 2}}}, "/coordinates/1", orb.Point{1, 1}},
		{"point_twice", orb.Collection{orb.MultiPoint{{1, 1}, {2, 2}, {1, 1}}}, "/geometries/0/coordinates/2", orb.Point{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fault := isSimple(t, c.shape)
			switch {
			case fault == nil && c.path == "":
			case fault == nil || fault.Rule != validity.NotSimple || fault.Path != c.path || fault.At != c.at:
				t.Errorf("got %v, want %q at %v", fault, c.path, c.at)
			}
		})
	}
}

// Many rings are valid, also if they all meet in one point.
func TestValid_many_rings(t *testing.T) {
	for _, n := range []int{1_000, 10_000} {
		var grid orb.MultiPolygon
		holes := orb.Polygon{rings.Box(0, 0, 1e6)}
		fan := orb.MultiPolygon{}
		for i := range n {
			x, y := float64(i%100)*4, float64(i/100)*4
			grid = append(grid, orb.Polygon{rings.Box(x, y, 1)})
			holes = append(holes, rings.Box(x, y, 1))
			fan = append(fan, orb.Polygon{ring(0, 0, 1e6, float64(4*i), 1e6, float64(4*i+2))})
		}
		chain := orb.Polygon{rings.Box(0, 0, 1e6)} // each hole touches the next
		for i := range n {
			chain = append(chain, ring(float64(i), 0, float64(i)+0.5, -1, float64(i+1), 0, float64(i)+0.5, 1))
		}
		for name, shape := range map[string]orb.Geometry{"grid": grid, "holes": holes, "fan": fan, "chain": chain} {
			fault := judged(t, shape)
			expect.That(t, fault == nil, "%s of %d: %+v", name, n, fault)
		}
	}
}

// A context that has ended ends the sweep, however many positions are left.
func TestValid_ends_with_its_context(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("no time left")
	cancel(cause)
	shapes := map[string]orb.Geometry{"polygon": orb.Polygon{rings.Coast(100_000)}, "line": orb.LineString(rings.Coast(100_000))}
	fault, err := validity.Valid(ctx, shapes["polygon"])
	expect.That(t, fault == nil && errors.Is(err, cause), "got %v, %v", fault, err)
	fault, err = validity.Simple(ctx, shapes["line"])
	expect.That(t, fault == nil && errors.Is(err, cause), "got %v, %v", fault, err)
}

// judged returns the verdict on validity. The context of a test does not end.
func judged(tb testing.TB, shape orb.Geometry) *validity.Fault {
	tb.Helper()
	return must.Get(validity.Valid(tb.Context(), shape))(tb)
}

// isSimple returns the verdict on simplicity.
func isSimple(tb testing.TB, shape orb.Geometry) *validity.Fault {
	tb.Helper()
	return must.Get(validity.Simple(tb.Context(), shape))(tb)
}

func ExampleValid() {
	bowTie := orb.Polygon{{{0, 0}, {2, 2}, {2, 0}, {0, 2}, {0, 0}}}
	fault, err := validity.Valid(context.Background(), bowTie)
	fmt.Println(fault, fault.At, err)
	// Output: ring_not_simple (/coordinates/0) [1 1] <nil>
}

func ExampleSimple() {
	fmt.Println(validity.Simple(context.Background(), orb.LineString{{0, 0}, {1, 0}, {1, 1}, {0, 0}}))
	// Output: <nil> <nil>
}

// begunElsewhere returns the shape with every hole beginning some positions later.
func begunElsewhere(shape orb.MultiPolygon, by int) orb.MultiPolygon {
	out := shape.Clone()
	for _, polygon := range out {
		for j := 1; j < len(polygon); j++ {
			open := polygon[j][:len(polygon[j])-1]
			begin := by % len(open)
			polygon[j] = rings.Closed(slices.Concat(open[begin:], open[:begin])...)
		}
	}
	return out
}

// A verdict does not change if rings run the other way, begin elsewhere, or the map is mirrored. These changes keep
// every digit.
func TestValid_does_not_depend_on_direction(t *testing.T) {
	random := rings.NewRandom(13)
	for range 5_000 {
		shape := random.Polygons()
		valid := judged(t, shape) == nil
		for name, same := range sameShapes(shape) {
			fault := judged(t, same)
			must.That(t, (fault == nil) == valid, "valid %v, but %s %v: %v", valid, name, fault, shape)
		}
	}
}

func sameShapes(shape orb.MultiPolygon) map[string]orb.MultiPolygon {
	out := map[string]orb.MultiPolygon{"with other beginnings": begunElsewhere(shape, 1)}
	for name, change := range map[string]func(orb.Ring){
		"reversed": func(ring orb.Ring) { ring.Reverse() },
		"with longitude and latitude exchanged": func(ring orb.Ring) {
			for i, p := range ring {
				ring[i] = orb.Point{p[1], p[0]}
			}
		},
		"turned upside down": func(ring orb.Ring) {
			for i, p := range ring {
				ring[i] = orb.Point{-p[0], -p[1]}
			}
		},
	} {
		changed := shape.Clone()
		for _, polygon := range changed {
			for _, ring := range polygon {
				change(ring)
			}
		}
		out[name] = changed
	}
	return out
}

// On rings of a small grid, where almost everything touches, the verdict does not depend on the direction.
func FuzzValid(f *testing.F) {
	f.Add([]byte{0, 0, 2, 2, 2, 0, 0, 2}, uint8(0))
	f.Add([]byte{0, 0, 9, 0, 9, 9, 0, 9, 1, 1, 8, 1, 8, 8, 1, 8, 4, 4, 5, 4, 5, 5, 4, 5}, uint8(4))
	f.Fuzz(func(t *testing.T, data []byte, split uint8) {
		shape := orb.MultiPolygon{nil}
		var corners orb.Ring
		for i := 0; i+1 < len(data) && i < 80; i += 2 {
			corners = append(corners, orb.Point{float64(data[i] % 12), float64(data[i+1] % 12)})
			if len(corners) < 3+int(split%6) && i+3 < len(data) {
				continue
			}
			if len(corners) < 3 {
				return
			}
			last := len(shape) - 1
			shape[last] = append(shape[last], rings.Closed(corners...))
			if corners = nil; split >= 128 && len(shape[last]) == 2 {
				shape = append(shape, nil)
			}
		}
		if len(shape[0]) == 0 {
			return
		}
		valid := judged(t, shape) == nil
		for name, same := range sameShapes(shape) {
			fault := judged(t, same)
			must.That(t, (fault == nil) == valid, "%s %v: %v", name, fault, shape)
		}
	})
}
