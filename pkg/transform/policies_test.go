package transform

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/validity"
)

func TestGeometryPolicies(t *testing.T) {
	three := 3
	record := func(geometry, bbox string) string {
		return `{"type":"Feature","id":1,"bbox":` + bbox + `,"geometry":` + geometry + `,"properties":null}`
	}
	line := `{"type":"LineString","coordinates":[[0,0],[2,2],[2,0],[0,2]]}`
	point := func(at string) string { return feature(`{"type":"Point","coordinates":` + at + `}`) }
	box := `{"type":"Polygon","coordinates":[[[170,0],[-170,0],[-170,10],[170,10],[170,0]]]}`
	turned := `{"type":"Polygon","coordinates":[[[170,0],[170,10],[-170,10],[-170,0],[170,0]]]}` // its numbers alone run clockwise
	for _, c := range []struct {
		name, in   string
		config     Config
		want, flag string
		code       classify.Code
	}{
		{"S0-8_is_simple_accepted", feature(line), Config{}, line, "", ""},
		{"S0-8_is_simple_rejected", feature(line), Config{Geometry: GeometryRules{Simplicity: Reject}}, "", "", classify.CodeGeometryNotSimple},
		{"S0-8_is_simple_flagged", feature(line), Config{Geometry: GeometryRules{Simplicity: AcceptWithFlag}}, line, "not_simple (/geometry/coordinates)", ""},
		{"S0-8_is_simple_closed_line", feature(`{"type":"LineString","coordinates":[[0,0],[2,2],[2,0],[0,0]]}`), Config{Geometry: GeometryRules{Simplicity: Reject}}, "", "", ""},
		{"S0-8_is_simple_points", feature(`{"type":"MultiPoint","coordinates":[[0,0],[1,1],[0,0]]}`), Config{Geometry: GeometryRules{Simplicity: Reject}}, "", "", classify.CodeGeometryNotSimple},

		{"foreign_members_rejected", feature(`{"type":"Point","coordinates":[1,2],"accuracy":5}`), Config{}, "", "", classify.CodeGeometryStructure},
		{"foreign_members_of_a_part_rejected", feature(`{"type":"GeometryCollection","geometries":[{"accuracy":5,"type":"Point","coordinates":[1,2]}]}`), Config{}, "", "", classify.CodeGeometryStructure},
		{"foreign_members_accepted", feature(`{"type":"Point","coordinates":[1,2],"accuracy":5}`), Config{Geometry: GeometryRules{ForeignMembers: Accept}}, `{"type":"Point","coordinates":[1,2]}`, "", ""},
		{"foreign_members_flagged", feature(`{"type":"Point","coordinates":[1,2],"accuracy":5}`), Config{Geometry: GeometryRules{ForeignMembers: AcceptWithFlag}}, `{"type":"Point","coordinates":[1,2]}`, "foreign_members (/geometry)", ""},
		{"bbox_of_a_geometry_is_none", feature(`{"type":"Point","coordinates":[1,2],"bbox":[1,2,1,2]}`), Config{}, `{"type":"Point","coordinates":[1,2]}`, "", ""},
		{"null_flagged", feature(`null`), Config{Geometry: GeometryRules{NullGeometry: AcceptWithFlag}}, `null`, "null_geometry (/geometry)", ""},
		{"empty_flagged", feature(`{"type":"Polygon","coordinates":[]}`), Config{Geometry: GeometryRules{EmptyGeometry: AcceptWithFlag}}, "", "empty_geometry (/geometry)", ""},
		{"empty_point_accepted", point(`[]`), Config{Geometry: GeometryRules{EmptyGeometry: Accept}}, `{"type":"Point","coordinates":[]}`, "", ""},
		{"empty_point_rejected", point(`[]`), Config{}, "", "", classify.CodeGeometryEmpty},
		{"empty_point_projected", point(`[]`), Config{Geometry: GeometryRules{EmptyGeometry: Accept, SourceCRS: "EPSG:25832", RoundDecimals: &three, BBox: BBoxCompute}}, `{"type":"Point","coordinates":[]}`, "", ""},
		{"empty_point_to_multi", point(`[]`), Config{Geometry: GeometryRules{EmptyGeometry: Accept, Types: []GeometryType{MultiPoint}, OtherTypes: ValidityRepair}}, `{"type":"MultiPoint","coordinates":[]}`, "repaired geometry_type", ""},
		{"empty_point_in_a_collection", feature(`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[]},{"type":"Point","coordinates":[1,2,3]}]}`), Config{Geometry: GeometryRules{EmptyGeometry: Accept}},
			`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[]},{"type":"Point","coordinates":[1,2,3]}]}`, "", ""},
		{"empty_member_of_a_collection_rejected", feature(`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[]},{"type":"Point","coordinates":[1,2]}]}`), Config{}, "", "", classify.CodeGeometryEmpty},
		{"empty_part_rejected", feature(`{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]],[]]}`), Config{}, "", "", classify.CodeGeometryEmpty},
		{"empty_part_flagged", feature(`{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]],[]]}`), Config{Geometry: GeometryRules{EmptyGeometry: AcceptWithFlag}}, "", "empty_geometry (/geometry/coordinates/1)", ""},
		{"empty_line_rejected", feature(`{"type":"MultiLineString","coordinates":[[[1,2],[3,4]],[]]}`), Config{}, "", "", classify.CodeGeometryEmpty},
		{"empty_line_flagged", feature(`{"type":"MultiLineString","coordinates":[[],[[1,2,3],[3,4,5]]]}`), Config{Geometry: GeometryRules{EmptyGeometry: AcceptWithFlag, BBox: BBoxCompute}},
			`{"type":"MultiLineString","coordinates":[[],[[1,2,3],[3,4,5]]]}`, "empty_geometry (/geometry/coordinates/0)", ""},
		{"empty_line_cut", feature(`{"type":"MultiLineString","coordinates":[[],[[170,0],[-170,0]]]}`), Config{Geometry: GeometryRules{EmptyGeometry: Accept, Antimeridian: AntimeridianCut}},
			`{"type":"MultiLineString","coordinates":[[],[[170,0],[180,0]],[[-180,0],[-170,0]]]}`, "", ""},
		{"type_to_multi", point(`[1,2]`), Config{Geometry: GeometryRules{Types: []GeometryType{MultiPoint}, OtherTypes: ValidityRepair}}, `{"type":"MultiPoint","coordinates":[[1,2]]}`, "repaired geometry_type Point to MultiPoint", ""},
		{"type_from_multi", feature(`{"type":"MultiPoint","coordinates":[[1,2]]}`), Config{Geometry: GeometryRules{Types: []GeometryType{Point}, OtherTypes: ValidityRepair}}, `{"type":"Point","coordinates":[1,2]}`, "repaired", ""},
		{"type_from_collection", feature(`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]}]}`), Config{Geometry: GeometryRules{Types: []GeometryType{MultiPoint}, OtherTypes: ValidityRepair}}, `{"type":"MultiPoint","coordinates":[[1,2]]}`, "repaired", ""},
		{"type_of_two_parts", feature(`{"type":"MultiPoint","coordinates":[[1,2],[3,4]]}`), Config{Geometry: GeometryRules{Types: []GeometryType{Point}, OtherTypes: ValidityRepair}}, "", "", classify.CodeGeometryType},
		{"type_flagged", point(`[1,2]`), Config{Geometry: GeometryRules{Types: []GeometryType{Polygon}, OtherTypes: ValidityFlag}}, "", "geometry_type Point", ""},

		{"drop_z", point(`[1,2,3]`), Config{Geometry: GeometryRules{Dimension: DimensionDropZ}}, `{"type":"Point","coordinates":[1,2]}`, "", ""},
		{"reject_z", point(`[1,2,3]`), Config{Geometry: GeometryRules{Dimension: DimensionRejectZ}}, "", "", classify.CodeGeometryDimension},
		{"require_z", point(`[1,2]`), Config{Geometry: GeometryRules{Dimension: DimensionRequireZ}}, "", "", classify.CodeGeometryDimension},
		{"require_z_everywhere", feature(`{"type":"LineString","coordinates":[[1,2,3],[4,5]]}`), Config{Geometry: GeometryRules{Dimension: DimensionRequireZ}}, "", "", classify.CodeGeometryDimension},
		{"require_z_is_there", point(`[1,2,3]`), Config{Geometry: GeometryRules{Dimension: DimensionRequireZ}}, "", "", ""},

		{"S0-9_coarse", point(`[9.52,47.1]`), Config{MinDecimals: &three}, "", "", classify.CodePrecisionDegraded},
		{"S0-9_coarse_flagged", point(`[9.52,47.1]`), Config{MinDecimals: &three, Geometry: GeometryRules{Coarse: AcceptWithFlag}}, "", "coarse (/geometry)", ""},
		{"S0-9_fine_enough", point(`[9.521,47]`), Config{MinDecimals: &three}, "", "", ""},
		{"S0-9_finer", point(`[9.5,47.12345]`), Config{MinDecimals: &three}, "", "", ""},

		{"meridian_ignored", feature(box), Config{}, turned, "", ""},
		{"meridian_flagged", feature(box), Config{Geometry: GeometryRules{Antimeridian: AntimeridianFlag}}, turned, "antimeridian (/geometry)", ""},
		{"meridian_rejected", feature(box), Config{Geometry: GeometryRules{Antimeridian: AntimeridianReject}}, "", "", classify.CodeAntimeridian},
		{"meridian_cut", feature(box), Config{Geometry: GeometryRules{Antimeridian: AntimeridianCut}},
			`{"type":"MultiPolygon","coordinates":[[[[-180,0],[-170,0],[-170,10],[-180,10],[-180,0]]],[[[170,0],[180,0],[180,10],[170,10],[170,0]]]]}`, "", ""},
		{"meridian_at_a_position", feature(`{"type":"LineString","coordinates":[[170,0],[180,5],[-170,0]]}`), Config{Geometry: GeometryRules{Antimeridian: AntimeridianCut}},
			`{"type":"MultiLineString","coordinates":[[[170,0],[180,5]],[[-180,5],[-170,0]]]}`, "", ""},
		{"meridian_at_a_position_westwards", feature(`{"type":"LineString","coordinates":[[-170,0],[-180,5],[170,0]]}`), Config{Geometry: GeometryRules{Antimeridian: AntimeridianCut}},
			`{"type":"MultiLineString","coordinates":[[[-170,0],[-180,5]],[[180,5],[170,0]]]}`, "", ""},
		{"meridian_heights", feature(`{"type":"LineString","coordinates":[[170,0,1],[-170,10,3]]}`), Config{Geometry: GeometryRules{Antimeridian: AntimeridianCut}},
			`{"type":"MultiLineString","coordinates":[[[170,0,1],[180,5,2]],[[-180,5,2],[-170,10,3]]]}`, "", ""},

		{"bbox_checked", record(line, `[0,0,2,2]`), Config{Geometry: GeometryRules{BBox: BBoxCheck}}, line, "", ""},
		{"bbox_wrong", record(line, `[0,0,2,3]`), Config{Geometry: GeometryRules{BBox: BBoxCheck}}, "", "", classify.CodeBBoxMismatch},
		{"bbox_of_a_geometry_cut_by_its_producer", record(`{"type":"MultiPoint","coordinates":[[177,-20],[180,-17],[-180,-17],[-178,-16]]}`, `[177,-20,-178,-16]`),
			Config{Geometry: GeometryRules{BBox: BBoxCheck}}, "", "", ""},
		{"bbox_across_the_meridian_wrong", record(`{"type":"MultiPoint","coordinates":[[177,-20],[-178,-16]]}`, `[178,-20,-178,-16]`),
			Config{Geometry: GeometryRules{BBox: BBoxCheck}}, "", "", classify.CodeBBoxMismatch},
		{"bbox_across_the_meridian", record(box, `[170,0,-170,10]`), Config{Geometry: GeometryRules{BBox: BBoxCheck}}, turned, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, flag, err := applied(t, c.config, c.in)
			if c.code != "" {
				e := asError(t, err)
				expect.That(t, e.Code == c.code && e.Fix != "" && e.Path != "", "got %s at %s: %v", e.Code, e.Path, e)
				return
			}
			expect.That(t, err == nil && (c.want == "" || got == c.want) && strings.Contains(flag, c.flag) && (c.flag == "") == (flag == ""), "got  %s, %q, %v\nwant %s, %q", got, flag, err, c.want, c.flag)
		})
	}
}

func TestBBoxPolicies(t *testing.T) {
	line := `{"type":"Feature","bbox":[9,9,9,9],"geometry":{"type":"LineString","coordinates":[[170,0,5],[-170,10,7]]},"properties":null}`
	for _, c := range []struct {
		name  string
		rules GeometryRules
		want  string
	}{
		{"keep", GeometryRules{}, `"bbox":[9,9,9,9],`},
		{"drop", GeometryRules{BBox: BBoxDrop}, ""},
		{"compute", GeometryRules{BBox: BBoxCompute}, `"bbox":[-170,0,5,170,10,7],`},
		{"compute_of_a_cut", GeometryRules{BBox: BBoxCompute, Dimension: DimensionDropZ, Antimeridian: AntimeridianCut}, `"bbox":[170,0,-170,10],`},
		{"keep_of_a_cut", GeometryRules{Dimension: DimensionDropZ, Antimeridian: AntimeridianCut}, `"bbox":[170,0,-170,10],`},
	} {
		tr := mustNew(t, Config{Geometry: c.rules})
		f := must.Get(tr.Apply(t.Context(), []byte(line)))(t)
		text := mustEncode(t, tr, f)
		expect.That(t, (c.want == "" || strings.Contains(text, c.want)) && (c.want != "" || !strings.Contains(text, "bbox")), "%v: got %s", c.name, text)
	}
}

// The bbox of a feature without a geometry is transformed to the target system.
func TestBBoxWithoutAGeometry_S1_4(t *testing.T) {
	for name, c := range map[string]struct {
		rules      GeometryRules
		bbox, want string
		code       classify.Code
	}{
		"same_system":    {GeometryRules{}, `[8,47,9,48]`, `"bbox":[8,47,9,48],`, ""},
		"projected":      {GeometryRules{SourceCRS: "EPSG:3857"}, `[0,0,111319.49079327357,111325.1428663851]`, `"bbox":[0,0,1,1],`, ""},
		"with_heights":   {GeometryRules{SourceCRS: "EPSG:3857"}, `[0,0,5,111319.49079327357,111325.1428663851,7]`, `"bbox":[0,0,5,1,1,7],`, ""},
		"latitude_first": {GeometryRules{SourceCRS: "urn:ogc:def:crs:EPSG::4326"}, `[47,8,48,9]`, `"bbox":[8,47,9,48],`, ""},
		"curved_sides":   {GeometryRules{SourceCRS: "EPSG:25832"}, `[400000,5500000,600000,5600000]`, `"bbox":[7.5`, ""},
		"dropped":        {GeometryRules{SourceCRS: "EPSG:3857", BBox: BBoxDrop}, `[0,0,9,9]`, `"geometry":null`, ""},
		"out_of_range":   {GeometryRules{SourceCRS: "EPSG:25832"}, `[8,47,9e30,48]`, "", classify.CodeCoordinateRange},
	} {
		t.Run(name, func(t *testing.T) {
			six := 6
			tr := mustNew(t, Config{Geometry: roundedTo(c.rules, &six)})
			f, err := tr.Apply(t.Context(), []byte(`{"type":"Feature","bbox":`+c.bbox+`,"geometry":null,"properties":null}`))
			if c.code != "" {
				e := asError(t, err)
				expect.That(t, e.Code == c.code && e.Path == "/bbox", "got %s at %s: %v", e.Code, e.Path, e)
				return
			}
			must.Do(t, err)
			text := mustEncode(t, tr, f)
			expect.That(t, strings.Contains(text, c.want) && (c.rules.BBox != BBoxDrop || !strings.Contains(text, "bbox")), "got %s", text)
		})
	}
}

func TestCRS_S1_4(t *testing.T) {
	six := 6
	named := func(name, at string) string {
		return `{"type":"Feature","crs":{"type":"name","properties":{"name":"` + name + `"}},"geometry":{"type":"Point","coordinates":` + at + `},"properties":null}`
	}
	point := func(at string) string { return feature(`{"type":"Point","coordinates":` + at + `}`) }
	use := GeometryRules{DeclaredCRS: DeclaredUse}
	for _, c := range []struct {
		name, in string
		rules    GeometryRules
		want     string
		code     classify.Code
		hint     string
	}{
		{"configured", point(`[691875.6321,6098907.825]`), GeometryRules{SourceCRS: "EPSG:25832"}, `[12,55]`, "", ""},
		{"configured_lat_first", point(`[47.1,9.5]`), GeometryRules{SourceCRS: "urn:ogc:def:crs:EPSG::4326"}, `[9.5,47.1]`, "", ""},
		{"to_web_mercator", point(`[9.5,47.1]`), GeometryRules{TargetCRS: "EPSG:3857"}, `[1057535.162`, "", ""},
		{"declared_and_used", named("urn:ogc:def:crs:EPSG::25832", `[691875.6321,6098907.825]`), use, `[12,55]`, "", ""},
		{"declared_and_the_same", named("urn:ogc:def:crs:EPSG::25832", `[691875.6321,6098907.825]`), GeometryRules{SourceCRS: "EPSG:25832"}, `[12,55]`, "", ""},
		{"declared_in_its_own_order", named("urn:ogc:def:crs:EPSG::4326", `[9.5,47.1]`), GeometryRules{SourceCRS: "urn:ogc:def:crs:EPSG::4326"}, `[9.5,47.1]`, "", ""},
		{"declared_otherwise", named("EPSG:25833", `[1,2]`), GeometryRules{SourceCRS: "EPSG:25832"}, "", classify.CodeCRSConflict, "declared_crs"},
		{"declared_unknown", named("EPSG:99999", `[1,2]`), use, "", classify.CodeUnknownCRS, "docs/crs.md"},
		{"declared_twice", `{"type":"Feature","crs":"EPSG:25832","geometry":{"type":"Point","coordinates":[1,2],"crs":"EPSG:3857"},"properties":null}`, use, "", classify.CodeCRSConflict, "send one"},
		{"undeclared_metres", point(`[2600000,1200000]`), GeometryRules{}, "", classify.CodeCoordinateRange, "EPSG:2056"},
		{"metres_in_the_wrong_system", point(`[2600000,1200000]`), GeometryRules{SourceCRS: "EPSG:25832"}, "", classify.CodeCoordinateRange, "source_crs"},
		{"degrees_in_a_projected_system", point(`[9.5,47.1]`), GeometryRules{SourceCRS: "EPSG:2056"}, "", classify.CodeCoordinateRange, "source_crs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := func() (string, error) {
				tr := mustNew(t, Config{Geometry: roundedTo(c.rules, &six)})
				f, err := tr.Apply(t.Context(), []byte(c.in))
				if err != nil {
					return "", err
				}
				return mustEncode(t, tr, f), nil
			}()
			if c.code != "" {
				e := asError(t, err)
				expect.That(t, e.Code == c.code && strings.Contains(e.Fix, c.hint), "got %s: %v", e.Code, e)
				return
			}
			must.That(t, err == nil && strings.Contains(got, `"coordinates":`+c.want), "got %s, %v, want %s", got, err, c.want)
			if target := c.rules.TargetCRS; target != "" {
				expect.That(t, strings.Contains(got, `"crs":{"type":"name","properties":{"name":"`+target+`"}}`), "%s does not name its system", got)
				back, _, err := applied(t, Config{Geometry: roundedTo(use, &six)}, got)
				expect.That(t, err == nil && strings.Contains(back, `[9.5,47.1]`), "back it becomes %s, %v", back, err)
			}
		})
	}
}

func TestDeclareCRS_S1_4_by_a_decoder(t *testing.T) {
	tr := mustNew(t, Config{Geometry: GeometryRules{SourceCRS: "EPSG:2056"}})
	f := mustDecode(t, tr, feature(`{"type":"Point","coordinates":[2600000,1200000]}`))
	f.DeclareCRS("EPSG:4326")
	expect.Equal(t, asError(t, gateError(t, tr, f)).Code, classify.CodeCRSConflict, "got code")
}

// Every OGC rule that a decoded geometry can break is found, named and located.
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

// Every rule of package validity is a rule of this package and has a sentence.
func TestViolation_has_the_words_of_validity(t *testing.T) {
	for _, rule := range validity.Rules() {
		ours := Rule(rule)
		expect.That(t, slices.Contains(Rules(), ours), "%s is not a rule here", rule)
		expect.That(t, rule == validity.NotSimple || ours.sentence() != string(ours), "%s has no sentence", rule)
	}
}

// applied runs a record through a config and returns the geometry and the flag.
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
		{"squares_in_a_ring", `{"type":"MultiPolygon","coordinates":[[[[0,0.2],[0.25,0.2],[0.25,0.45],[0,0.45],[0,0.2]]],[[[0.2,0],[0.45,0],[0.45,0.25],[0.2,0.25],[0.2,0]]],[[[0.2,0.2],[0.45,0.2],[0.45,0.45],[0.2,0.45],[0.2,0.2]]],[[[0.2,0.4],[0.45,0.4],[0.45,0.65],[0.2,0.65],[0.2,0.4]]],[[[0.4,0.2],[0.65,0.2],[0.65,0.45],[0.4,0.45],[0.4,0.2]]]]}`, "", "area 0.3125 to 0.2625"},
		{"tangled", `{"type":"MultiPolygon","coordinates":[[[[7,6],[6,1],[7,7],[7,4],[7,4],[0,5],[2,1],[4,3],[7,6]]],[[[7,3],[5,0],[7,1],[1,5],[7,3]]],[[[6,0],[7,4],[4,5],[2,0],[0,0],[1,6],[6,1],[2,5],[5,4],[5,5],[6,0]]]]}`, "", "area 19.5 to 23.82112910853"},
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
			again, flag, err := applied(t, Config{Geometry: GeometryRules{Validity: ValidityReject}}, feature(got))
			expect.That(t, err == nil && again == got && flag == "", "a second time it becomes %s, %q, %v", again, flag, err)
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
		// The overlap is 0.1 % of the area in square degrees, most of which lies near the pole, but 1.2 % of the area on
		// the sphere.
		{"too_much_area_on_the_sphere", `{"type":"MultiPolygon","coordinates":[[[[0,80],[100,80],[100,89],[0,89],[0,80]]],[[[0,0],[2,0],[2,1],[0,1],[0,0]]],[[[1,0],[3,0],[3,1],[1,1],[1,0]]]]}`,
			Config{Geometry: little}, classify.CodeGeometryInvalid, RuleAreaChange, " km² to ", "geometry.max_area_change"},
		{"too_much_area_in_metres", `{"type":"Polygon","coordinates":[[[500000,5200000],[500010,5200010],[500010,5200000],[500000,5200010],[500000,5200000]]]}`,
			Config{Geometry: GeometryRules{Validity: ValidityRepair, MaxAreaChange: &share, SourceCRS: "EPSG:25832"}}, classify.CodeGeometryInvalid, RuleAreaChange, "from 0 to 50,", "geometry.max_area_change"},
		{"an_edge_around_the_world", `{"type":"Polygon","coordinates":[[[170,-10],[-170,-10],[-170,10],[170,10],[171,0],[170,-10]],[[-175,-5],[-175,5],[-172,5],[-175,-5]]]}`,
			Config{Geometry: repair}, classify.CodeGeometryInvalid, RuleHoleOutside, "wraps around the world", "geometry.antimeridian: cut"},
	} {
		_, _, err := applied(t, c.config, feature(c.geometry))
		e := asError(t, err)
		expect.That(t, e.Code == c.code && e.Rule == string(c.rule) && strings.Contains(e.Message, c.message) && strings.Contains(e.Fix+e.Value, c.fix), "%v: got %s, %s: %v", c.name, e.Code, e.Rule, e)
	}
}
