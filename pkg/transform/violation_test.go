package transform

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"
)

// TestViolation: every rule of OGC validity that a decoded geometry can break
// is found, named and located.
func TestViolation(t *testing.T) {
	square := `[[0,0],[9,0],[9,9],[0,9],[0,0]]`
	cases := []struct {
		name, geometry string
		rule           Rule
		path           string
		at             *orb.Point
	}{
		{"line_of_one_point", `{"type":"LineString","coordinates":[[1,2],[1,2]]}`, RuleOnePoint, "/geometry/coordinates", &orb.Point{1, 2}},
		{"line_of_one_point_among_lines", `{"type":"MultiLineString","coordinates":[[[0,0],[1,1]],[[1,2],[1,2]]]}`, RuleOnePoint, "/geometry/coordinates/1", &orb.Point{1, 2}},
		{"ring_of_one_point", `{"type":"Polygon","coordinates":[[[1,2],[1,2],[1,2],[1,2]]]}`, RuleOnePoint, "/geometry/coordinates/0", &orb.Point{1, 2}},
		{"bow_tie_at_its_crossing", bowTie, RuleRingSimple, "/geometry/coordinates/0", &orb.Point{1, 1}},
		{"spike_at_its_tip", `{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[6,6],[4,4],[0,4],[0,0]]]}`, RuleRingSimple, "/geometry/coordinates/0", &orb.Point{6, 6}},
		{"ring_touches_itself", `{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[2,0],[0,4],[0,0]]]}`, RuleRingSimple, "/geometry/coordinates/0", &orb.Point{2, 0}},
		{"second_polygon_second_ring", `{"type":"MultiPolygon","coordinates":[[[[20,20],[21,20],[21,21],[20,20]]],[` + square + `,[[1,1],[3,3],[3,1],[1,3],[1,1]]]]}`, RuleRingSimple, "/geometry/coordinates/1/1", &orb.Point{2, 2}},
		{"nested_holes", `{"type":"Polygon","coordinates":[` + square + `,[[1,1],[8,1],[8,8],[1,8],[1,1]],[[2,2],[7,2],[7,7],[2,7],[2,2]]]}`, RuleNestedRings, "/geometry/coordinates", nil},
		{"hole_outside", `{"type":"Polygon","coordinates":[` + square + `,[[20,20],[21,20],[21,21],[20,20]]]}`, RuleHoleOutside, "/geometry/coordinates", nil},
		{"hole_crosses", `{"type":"Polygon","coordinates":[` + square + `,[[5,5],[15,5],[15,6],[5,6],[5,5]]]}`, RuleRingsMultiTouch, "/geometry/coordinates", nil},
		{"interior_cut_apart", `{"type":"Polygon","coordinates":[` + square + `,[[0,0],[4,5],[5,4],[0,0]],[[9,9],[4,5],[5,7],[9,9]]]}`, RuleInteriorDisconnected, "/geometry/coordinates", nil},
		{"polygons_overlap", `{"type":"MultiPolygon","coordinates":[[` + square + `],[[[5,5],[15,5],[15,6],[5,6],[5,5]]]]}`, RulePolygonsOverlap, "/geometry/coordinates", nil},
		{"in_a_collection", `{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[0,0]},` + bowTie + `]}`, RuleRingSimple, "/geometry/geometries/1/coordinates/0", &orb.Point{1, 1}},
	}
	tr := mustNew(t, Config{})
	for _, c := range cases {
		t.Run("S0-8_"+c.name, func(t *testing.T) {
			err := tr.Gate(mustDecode(t, tr, feature(c.geometry)))
			var v *Violation
			if !errors.As(err, &v) {
				t.Fatalf("no violation in %v", err)
			}
			if v.Rule != c.rule || v.Path != c.path {
				t.Errorf("got %s at %s: %v", v.Rule, v.Path, v)
			}
			if c.at != nil && (!v.HasLocation || v.X != c.at[0] || v.Y != c.at[1]) {
				t.Errorf("located at %v %v (%v), want %v", v.X, v.Y, v.HasLocation, *c.at)
			}
		})
	}
}

// TestTranslate: the library still says what the table of words expects, word
// for word. A new version that says it otherwise fails here.
func TestTranslate(t *testing.T) {
	line := func(flat ...float64) geom.LineString { return geom.NewLineString(geom.NewSequence(flat, geom.DimXY)) }
	polygon := func(rings ...geom.LineString) geom.Polygon { return geom.NewPolygon(rings) }
	square := line(0, 0, 9, 0, 9, 9, 0, 9, 0, 0)
	got := map[string]Rule{}
	for _, g := range []interface{ Validate() error }{
		line(1, 2, 1, 2),
		line(math.Inf(1), 0, 1, 1),
		line(math.NaN(), 0, 1, 1),
		polygon(line()),
		polygon(line(0, 0, 1, 0, 1, 1)),
		polygon(line(0, 0, 2, 2, 2, 0, 0, 2, 0, 0)),
		polygon(square, line(1, 1, 8, 1, 8, 8, 1, 8, 1, 1), line(2, 2, 7, 2, 7, 7, 2, 7, 2, 2)),
		polygon(square, line(20, 20, 21, 20, 21, 21, 20, 20)),
		polygon(square, line(0, 0, 4, 5, 5, 4, 0, 0), line(9, 9, 4, 5, 5, 7, 9, 9)),
		polygon(square, line(5, 5, 15, 5, 15, 6, 5, 6, 5, 5)),
		geom.NewMultiPolygon([]geom.Polygon{polygon(square), polygon(square)}),
	} {
		err := g.Validate()
		if err == nil {
			t.Fatalf("the library takes %v for valid", g)
		}
		v := translate(err, "")
		for _, known := range libraryRules() {
			if strings.Contains(err.Error(), known.text) {
				got[known.text] = v.Rule
			}
		}
		if v.Rule == RuleUndecided {
			t.Errorf("%v has no rule", err)
		}
	}
	for _, known := range libraryRules() {
		if got[known.text] != known.rule {
			t.Errorf("nothing makes the library say %q", known.text)
		}
	}
}

func TestTranslateUnknown(t *testing.T) {
	if v := translate(errors.New("something new"), "/geometry"); v.Rule != RuleUndecided || v.HasLocation || v.Path != "/geometry" {
		t.Errorf("got %+v", v)
	}
}

// FuzzSelfIntersection compares the sweep with what the library finds.
func FuzzSelfIntersection(f *testing.F) {
	f.Add([]byte{0, 0, 2, 2, 2, 0, 0, 2})
	f.Add([]byte{0, 0, 4, 0, 4, 4, 6, 6, 4, 4, 0, 4})
	f.Add([]byte{0, 0, 1, 0, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var ring orb.Ring
		for i := 0; i+1 < len(data) && len(ring) < 40; i += 2 {
			ring = append(ring, orb.Point{float64(data[i] % 16), float64(data[i+1] % 16)})
		}
		if len(ring) < 3 {
			return
		}
		ring = append(ring, ring[0])
		if distinct(ring, 3) < 3 {
			return
		}
		_, found := selfIntersection(ring)
		// On a small grid the arithmetic is exact, so the library must agree.
		if simple := lineOf(ring).IsSimple(); simple == found {
			t.Errorf("ring %v: self-intersection %v, library says simple %v", ring, found, simple)
		}
	})
}
