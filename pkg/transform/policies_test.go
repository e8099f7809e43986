package transform

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

func TestGeometryPolicies(t *testing.T) {
	three := 3
	record := func(geometry, bbox string) string {
		return `{"type":"Feature","id":1,"bbox":` + bbox + `,"geometry":` + geometry + `,"properties":null}`
	}
	line := `{"type":"LineString","coordinates":[[0,0],[2,2],[2,0],[0,2]]}`
	point := func(at string) string { return feature(`{"type":"Point","coordinates":` + at + `}`) }
	box := `{"type":"Polygon","coordinates":[[[170,0],[-170,0],[-170,10],[170,10],[170,0]]]}`
	turned := `{"type":"Polygon","coordinates":[[[170,0],[170,10],[-170,10],[-170,0],[170,0]]]}` // by its numbers it is wound wrong
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
			expect.That(t, err == nil && (c.want == "" || got == c.want) && strings.Contains(flag, c.flag) && (c.flag == "") == (flag == ""),
				"got  %s, %q, %v\nwant %s, %q", got, flag, err, c.want, c.flag)
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
		t.Run(c.name, func(t *testing.T) {
			tr := mustNew(t, Config{Geometry: c.rules})
			f := must.Get(tr.Apply(t.Context(), []byte(line)))(t)
			text := mustEncode(t, tr, f)
			expect.That(t, (c.want == "" || strings.Contains(text, c.want)) && (c.want != "" || !strings.Contains(text, "bbox")), "got %s", text)
		})
	}
}

// A feature without a geometry is where its bbox says: in the system that is written, and not in that of the source.
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
	e := asError(t, gateError(t, tr, f))
	expect.That(t, e.Code == classify.CodeCRSConflict, "got %v", e)
}
