package transform

import (
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// spiked is valid, and touches itself when it is rounded to 6 decimals.
const spiked = `{"type":"Polygon","coordinates":[[[8,47],[8.001,47],[8.001,47.001],[8.0005,47.0000004],[8,47.001],[8,47]]]}`

// What leaves is judged at the precision with which it leaves, and never invalid in
// silence.
func TestOutputValidity_S0_3_S0_8(t *testing.T) {
	six, two := 6, 2
	none := 0.0
	split := `{"type":"MultiPolygon","coordinates":[[[[8,47],[8.0005,47],[8,47.001],[8,47]]],[[[8.0005,47],[8.001,47],[8.001,47.001],[8.0005,47]]]]}`
	touching := `{"type":"Polygon","coordinates":[[[8,47],[8.001,47],[8.001,47.001],[8.0005,47],[8,47.001],[8,47]]]}`
	for _, c := range []struct {
		name, in   string
		config     Config
		want, flag string
		code       classify.Code
	}{
		{"snap", spiked, Config{Geometry: GeometryRules{RoundDecimals: &six}}, split, "snapped ring_not_simple near 8.0005 47 (/geometry/coordinates/0), area ", ""},
		{"flag", spiked, Config{Geometry: GeometryRules{RoundDecimals: &six, OutputValidity: OutputFlag}}, touching, "ring_not_simple near 8.0005 47 (/geometry/coordinates/0)", ""},
		{"reject", spiked, Config{Geometry: GeometryRules{RoundDecimals: &six, OutputValidity: OutputReject}}, "", "", classify.CodeGeometryInvalid},
		{"not_rounded", spiked, Config{}, spiked, "", ""},
		{"a_type_that_does_not_pass", spiked, Config{Geometry: GeometryRules{RoundDecimals: &six, Types: []GeometryType{Polygon}}}, "", "", classify.CodeGeometryType},
		{"a_type_that_is_converted", `{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]],[[[5,5],[5.001,5],[5.001,5.001],[5,5]]]]}`,
			Config{Geometry: GeometryRules{RoundDecimals: &two, Types: []GeometryType{MultiPolygon}}}, `{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]}`,
			"nothing left of /geometry/coordinates/1/0", ""},
		{"too_much_area", spiked, Config{Geometry: GeometryRules{RoundDecimals: &six, MaxAreaChange: &none}}, "", "", classify.CodeGeometryInvalid},
		{"a_hole_collapses", `{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[1,1],[1.001,1.001],[1.001,1],[1,1]]]}`, Config{Geometry: GeometryRules{RoundDecimals: &two}},
			`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]]]}`, "nothing left of /geometry/coordinates/1", ""},
		{"a_line_collapses", `{"type":"MultiLineString","coordinates":[[[0,0],[1,1]],[[2,2],[2.001,2.001]]]}`, Config{Geometry: GeometryRules{RoundDecimals: &two}},
			`{"type":"MultiLineString","coordinates":[[[0,0],[1,1]]]}`, "nothing left of /geometry/coordinates/1", ""},
		{"everything_collapses", `{"type":"Polygon","coordinates":[[[0,0],[0.001,0],[0.001,0.001],[0,0]]]}`, Config{Geometry: GeometryRules{RoundDecimals: &two}}, "", "", classify.CodeGeometryInvalid},
		{"everything_collapses_after_a_repair", `{"type":"Polygon","coordinates":[[[0,0],[0.001,0],[0.001,0.001],[0,0]]]}`,
			Config{Geometry: GeometryRules{RoundDecimals: &two, Validity: ValidityRepair}}, `{"type":"Polygon","coordinates":[[[0,0],[0.001,0],[0.001,0.001],[0,0]]]}`, "collapsed_by_precision (/geometry/coordinates/0)", ""},
		{"an_invalid_one_that_was_let_pass", bowTie, Config{Geometry: GeometryRules{RoundDecimals: &two, Validity: ValidityFlag}}, bowTie, "ring_not_simple near 1 1", ""},
		{"heights", `{"type":"Polygon","coordinates":[[[8,47,1],[8.001,47,2],[8.001,47.001,3],[8.0005,47.0000004,4],[8,47.001,5],[8,47,1]]]}`, Config{Geometry: GeometryRules{RoundDecimals: &six}},
			`{"type":"MultiPolygon","coordinates":[[[[8,47,1],[8.0005,47,4],[8,47.001,5],[8,47,1]]],[[[8.0005,47,4],[8.001,47,2],[8.001,47.001,3],[8.0005,47,4]]]]}`, "snapped", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, flag, err := applied(t, c.config, feature(c.in))
			if c.code != "" {
				e := asError(t, err)
				expect.That(t, e.Code == c.code && e.Stage == classify.StageTransform && e.Fix != "", "got %s of %s: %v", e.Code, e.Stage, e)
				return
			}
			must.That(t, err == nil && got == c.want && strings.Contains(flag, c.flag) && (c.flag == "") == (flag == ""), "got  %s, %q, %v\nwant %s, %q", got, flag, err, c.want, c.flag)
			if again, flag, err := applied(t, c.config, feature(got)); strings.HasPrefix(c.flag, "snapped") && (err != nil || again != got || flag != "") {
				t.Errorf("a second time it becomes %s, %q, %v", again, flag, err)
			}
		})
	}
}

// strict is one word for the gates of the first source document.
func TestGates_S0_8_strict(t *testing.T) {
	strict := GeometryRules{Gates: GatesStrict}
	loose := strict
	loose.NullGeometry, loose.Dimension = Accept, DimensionKeep
	for name, c := range map[string]struct {
		geometry string
		rules    GeometryRules
		code     classify.Code
	}{
		"valid":          {`{"type":"LineString","coordinates":[[0,0],[1,1]]}`, strict, ""},
		"not_valid":      {bowTie, strict, classify.CodeGeometryInvalid},
		"not_simple":     {`{"type":"LineString","coordinates":[[0,0],[2,2],[2,0],[0,2]]}`, strict, classify.CodeGeometryNotSimple},
		"empty":          {`{"type":"Polygon","coordinates":[]}`, strict, classify.CodeGeometryEmpty},
		"null":           {`null`, strict, classify.CodeGeometryEmpty},
		"heights":        {`{"type":"Point","coordinates":[1,2,3]}`, strict, classify.CodeGeometryDimension},
		"null_named":     {`null`, loose, ""},
		"heights_named":  {`{"type":"Point","coordinates":[1,2,3]}`, loose, ""},
		"others_default": {`null`, GeometryRules{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := geometryOf(t, Config{Geometry: c.rules}, c.geometry)
			expect.That(t, (c.code != "" || err == nil) && (c.code == "" || asError(t, err).Code == c.code), "got %v", err)
		})
	}
	keys := func(rules GeometryRules) (keys []string) {
		for _, off := range (Config{Geometry: rules}).GatesOff() {
			keys = append(keys, strings.TrimPrefix(off.Key, "geometry."))
		}
		return keys
	}
	if got, want := keys(strict), []string{"types", "coarse", "antimeridian", "bbox"}; !slices.Equal(got, want) {
		t.Errorf("off in strict: %v, want %v", got, want)
	}
	want := []string{"null_geometry", "dimension", "types", "coarse", "antimeridian", "simplicity", "max_area_change", "bbox"}
	got := keys(GeometryRules{Validity: ValidityRepair})
	expect.That(t, slices.Equal(got, want), "off: %v, want %v", got, want)
}

// A bbox that no geometry has does not pass as it is.
func TestBBoxOrder_RFC7946_5(t *testing.T) {
	for name, c := range map[string]struct {
		bbox, geometry string
		rules          GeometryRules
		passes         bool
	}{
		"south_above_north":      {`[0,9,9,0]`, `{"type":"Point","coordinates":[1,1]}`, GeometryRules{}, false},
		"of_no_geometry":         {`[0,9,9,0]`, `null`, GeometryRules{}, false},
		"heights":                {`[0,0,9,9,9,1]`, `{"type":"Point","coordinates":[1,1]}`, GeometryRules{}, false},
		"outside":                {`[0,0,9,91]`, `{"type":"Point","coordinates":[1,1]}`, GeometryRules{}, false},
		"across_the_meridian":    {`[170,0,-170,9]`, `{"type":"Point","coordinates":[175,1]}`, GeometryRules{}, true},
		"across_nothing":         {`[9,0,1,9]`, `{"type":"Point","coordinates":[200000,1]}`, GeometryRules{SourceCRS: "EPSG:3857"}, false},
		"latitude_first":         {`[0,9,9,0]`, `{"type":"Point","coordinates":[1,1]}`, GeometryRules{SourceCRS: "urn:ogc:def:crs:EPSG::4326"}, true},
		"dropped":                {`[0,9,9,0]`, `{"type":"Point","coordinates":[1,1]}`, GeometryRules{BBox: BBoxDrop}, true},
		"of_another_place_stays": {`[0,0,9,9]`, `{"type":"Point","coordinates":[50,50]}`, GeometryRules{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mustNew(t, Config{Geometry: c.rules}).Apply(t.Context(), []byte(`{"type":"Feature","bbox":`+c.bbox+`,"geometry":`+c.geometry+`,"properties":null}`))
			expect.That(t, (!c.passes || err == nil) && (c.passes || asError(t, err).Code == classify.CodeBBoxMismatch), "got %v", err)
		})
	}
}

// Ordinates beyond their range by rounding are brought back; the message of others
// does not take them for swapped.
func TestRange_at_the_edge_of_the_world(t *testing.T) {
	got, err := geometryOf(t, Config{}, `{"type":"LineString","coordinates":[[180.00000000000003,0],[-180.0000000001,90.0000000001]]}`)
	want := `{"type":"LineString","coordinates":[[180,0],[-180,90]]}`
	expect.That(t, err == nil && got == want, "got %s, %v, want %s", got, err, want)
	_, err = geometryOf(t, Config{}, `{"type":"Point","coordinates":[10,90.0000001]}`)
	e := asError(t, err)
	expect.That(t, strings.Contains(e.Fix, "±90") && !strings.Contains(e.Fix, "swapped"), "got %q", e.Fix)
}
