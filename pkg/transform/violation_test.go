package transform

import (
	"errors"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// TestViolation: every rule of OGC validity that a decoded geometry can break
// is found, named and located.
func TestViolation(t *testing.T) {
	square := `[[0,0],[9,0],[9,9],[0,9],[0,0]]`
	tr := mustNew(t, Config{})
	for _, c := range []struct {
		name, geometry string
		rule           Rule
		path           string
		at             *orb.Point
	}{
		{"line_of_one_point_among_lines", `{"type":"MultiLineString","coordinates":[[[0,0],[1,1]],[[1,2],[1,2]]]}`, RuleOnePoint, "/geometry/coordinates/1", &orb.Point{1, 2}},
		{"bow_tie_at_its_crossing", bowTie, RuleRingSimple, "/geometry/coordinates/0", &orb.Point{1, 1}},
		{"second_polygon_second_ring", `{"type":"MultiPolygon","coordinates":[[[[20,20],[21,20],[21,21],[20,20]]],[` + square + `,[[1,1],[3,3],[3,1],[1,3],[1,1]]]]}`, RuleRingSimple, "/geometry/coordinates/1/1", &orb.Point{2, 2}},
		{"hole_outside", `{"type":"Polygon","coordinates":[` + square + `,[[20,20],[21,20],[21,21],[20,20]]]}`, RuleHoleOutside, "/geometry/coordinates/1", &orb.Point{20, 20}},
		{"interior_cut_apart", `{"type":"Polygon","coordinates":[` + square + `,[[0,0],[4,5],[5,4],[0,0]],[[9,9],[4,5],[5,7],[9,9]]]}`, RuleInteriorDisconnected, "/geometry/coordinates/2", &orb.Point{9, 9}},
		{"polygons_overlap", `{"type":"MultiPolygon","coordinates":[[` + square + `],[[[5,5],[15,5],[15,6],[5,6],[5,5]]]]}`, RulePolygonsOverlap, "/geometry/coordinates/1/0", &orb.Point{9, 5}},
		{"in_a_collection", `{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[0,0]},` + bowTie + `]}`, RuleRingSimple, "/geometry/geometries/1/coordinates/0", &orb.Point{1, 1}},
	} {
		t.Run("S0-8_"+c.name, func(t *testing.T) {
			err := gateError(t, tr, mustDecode(t, tr, feature(c.geometry)))
			var v *Violation
			must.That(t, errors.As(err, &v), "no violation in %v", err)
			expect.That(t, v.Rule == c.rule && v.Path == c.path, "got %s at %s: %v", v.Rule, v.Path, v)
			expect.That(t, c.at == nil || v.HasLocation && v.X == c.at[0] && v.Y == c.at[1], "located at %v %v (%v), want %v", v.X, v.Y, v.HasLocation, *c.at)
		})
	}
}

// TestViolation_has_the_words_of_validity: what the package validity can say is a
// rule of this one, and has a sentence.
func TestViolation_has_the_words_of_validity(t *testing.T) {
	for _, rule := range validity.Rules() {
		ours := Rule(rule)
		expect.That(t, slices.Contains(Rules(), ours), "%s is no rule here", rule)
		expect.That(t, rule == validity.NotSimple || ours.sentence() != string(ours), "%s has no sentence", rule)
	}
}
