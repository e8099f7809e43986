package transform

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// applied runs a geometry through rules and returns what it became and the flag.
func applied(tb testing.TB, config Config, record string) (geometry, flag string, err error) {
	tb.Helper()
	tr := mustNew(tb, config)
	f, err := tr.Apply(tb.Context(), []byte(record))
	if err != nil {
		return "", "", err
	}
	_, rest, _ := strings.Cut(mustEncode(tb, tr, f), `"geometry":`)
	geometry, _, _ = strings.Cut(rest, `,"properties"`)
	value, _ := f.Property(DefaultFlagProperty)
	return geometry, value.Text(), nil
}

func TestRepair_S0_8(t *testing.T) {
	square := `[[0,0],[9,0],[9,9],[0,9],[0,0]]`
	for _, c := range []struct{ name, in, want, flag string }{
		{"valid_stays", `{"type":"Polygon","coordinates":[` + square + `]}`, `{"type":"Polygon","coordinates":[` + square + `]}`, ""},
		{"bow_tie", bowTie, `{"type":"MultiPolygon","coordinates":[[[[0,0],[1,1],[0,2],[0,0]]],[[[1,1],[2,0],[2,2],[1,1]]]]}`,
			"repaired ring_not_simple near 1 1 (/geometry/coordinates/0), area 0 to 2"},
		{"ring_that_touches_itself_inside", `{"type":"Polygon","coordinates":[[[0,0],[8,0],[4,4],[2,2],[6,2],[4,4],[8,8],[0,8],[0,0]]]}`, "", "ring_not_simple"},
		{"polygons_overlap", `{"type":"MultiPolygon","coordinates":[[` + square + `],[[[5,5],[15,5],[15,6],[5,6],[5,5]]]]}`, "", "area 91 to 87"},
		{"a_hole_that_collapses", `{"type":"Polygon","coordinates":[` + square + `,[[1,1],[2,2],[1,1],[2,2],[1,1]]]}`, `{"type":"Polygon","coordinates":[` + square + `]}`,
			"area 81 to 81, nothing left of /geometry/coordinates/1"},
		{"a_line_of_several", `{"type":"MultiLineString","coordinates":[[[0,0],[1,1]],[[2,2],[2,2]]]}`, `{"type":"MultiLineString","coordinates":[[[0,0],[1,1]]]}`,
			"repaired one_distinct_point near 2 2 (/geometry/coordinates/1), nothing left of /geometry/coordinates/1"},
		{"heights", `{"type":"Polygon","coordinates":[[[0,0,0],[2,2,20],[2,0,30],[0,2,10],[0,0,0]]]}`,
			`{"type":"MultiPolygon","coordinates":[[[[0,0,0],[1,1,15],[0,2,10],[0,0,0]]],[[[1,1,15],[2,0,30],[2,2,20],[1,1,15]]]]}`, "area 0 to 2"},
		{"in_a_collection", `{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[0,0]},` + bowTie + `]}`, "", "area 0 to 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, flag, err := applied(t, Config{Geometry: GeometryRules{Validity: ValidityRepair}}, feature(c.in))
			must.Do(t, err)
			expect.That(t, (c.want == "" || got == c.want) && strings.Contains(flag, c.flag) && (c.flag == "") == (flag == ""), "got  %s, %q\nwant %s, %q", got, flag, c.want, c.flag)
			if again, flag, err := applied(t, Config{Geometry: GeometryRules{Validity: ValidityReject}}, feature(got)); err != nil || again != got || flag != "" {
				t.Errorf("a second time it becomes %s, %q, %v", again, flag, err)
			}
		})
	}
}

func TestRepair_S0_8_refuses_what_it_cannot_do_right(t *testing.T) {
	repair := GeometryRules{Validity: ValidityRepair}
	little, share := repair, 0.01
	little.MaxAreaChange = &share
	for _, c := range []struct {
		name, geometry string
		config         Config
		code           classify.Code
		rule           Rule
		message, fix   string
	}{
		{"nothing_is_left", `{"type":"Polygon","coordinates":[[[0,0],[1,1],[2,2],[0,0]]]}`, Config{Geometry: repair},
			classify.CodeGeometryInvalid, RuleRingSimple, "nothing is left of it", "correct the geometry"},
		{"line_of_one_position", `{"type":"LineString","coordinates":[[1,1],[1,1]]}`, Config{Geometry: repair},
			classify.CodeGeometryInvalid, RuleOnePoint, "nothing is left of it", "correct the geometry"},
		{"into_another_type", bowTie, Config{Geometry: GeometryRules{Validity: ValidityRepair, Types: []GeometryType{Polygon}}},
			classify.CodeGeometryType, RuleGeometryType, "do not pass", "MultiPolygon"},
		{"too_much_area", bowTie, Config{Geometry: little}, classify.CodeGeometryInvalid, RuleAreaChange, "from 0 km² to 24724", "geometry.max_area_change"},
		// The overlap is 0.1 % of the area in square degrees, most of which lies near the pole, and 1.2 % of that on the sphere.
		{"too_much_area_on_the_sphere", `{"type":"MultiPolygon","coordinates":[[[[0,80],[100,80],[100,89],[0,89],[0,80]]],[[[0,0],[2,0],[2,1],[0,1],[0,0]]],[[[1,0],[3,0],[3,1],[1,1],[1,0]]]]}`,
			Config{Geometry: little}, classify.CodeGeometryInvalid, RuleAreaChange, " km² to ", "geometry.max_area_change"},
		{"too_much_area_in_metres", `{"type":"Polygon","coordinates":[[[500000,5200000],[500010,5200010],[500010,5200000],[500000,5200010],[500000,5200000]]]}`,
			Config{Geometry: GeometryRules{Validity: ValidityRepair, MaxAreaChange: &share, SourceCRS: "EPSG:25832"}}, classify.CodeGeometryInvalid, RuleAreaChange, "from 0 to 50,", "geometry.max_area_change"},
		{"an_edge_around_the_world", `{"type":"Polygon","coordinates":[[[170,-10],[-170,-10],[-170,10],[170,10],[171,0],[170,-10]],[[-175,-5],[-175,5],[-172,5],[-175,-5]]]}`,
			Config{Geometry: repair}, classify.CodeGeometryInvalid, RuleHoleOutside, "wraps around the world", "geometry.antimeridian: cut"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := applied(t, c.config, feature(c.geometry))
			e := asError(t, err)
			expect.That(t, e.Code == c.code && e.Rule == string(c.rule) && strings.Contains(e.Message, c.message) && strings.Contains(e.Fix+e.Value, c.fix),
				"got %s, %s: %v", e.Code, e.Rule, e)
		})
	}
}
