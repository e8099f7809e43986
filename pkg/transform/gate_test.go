package transform

import (
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

const bowTie = `{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}`

func withCRS(crs string) string {
	return `{"type":"Feature","id":1,"crs":` + crs + `,"geometry":{"type":"Point","coordinates":[1,2]},"properties":null}`
}

func TestGate(t *testing.T) {
	polygonsOnly := GeometryRules{Types: []GeometryType{Polygon, MultiPolygon}}
	point := feature(`{"type":"Point","coordinates":[1,2]}`)
	for _, c := range []struct {
		name, in string
		rules    GeometryRules
		code     classify.Code // empty if the record passes
		rule     Rule
		path     string
	}{
		{"S1-4_no_crs", point, GeometryRules{}, "", "", ""},
		{"S1-4_crs_urn_epsg", withCRS(`{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::4326"}}`), GeometryRules{}, "", "", ""},
		{"S1-4_crs_code", withCRS(`{"type":"EPSG","properties":{"code":4326}}`), GeometryRules{}, "", "", ""},
		{"S1-4_crs_as_a_string", withCRS(`"OGC:CRS84"`), GeometryRules{}, "", "", ""},
		{"S1-4_crs_projected", withCRS(`{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::25832"}}`), GeometryRules{}, classify.CodeCRSConflict, RuleCRS, "/crs"},
		{"S1-4_crs_null", withCRS(`null`), GeometryRules{}, classify.CodeUnknownCRS, RuleCRS, "/crs"},
		{"S1-4_crs_link", withCRS(`{"type":"link","properties":{"href":"http://example.com/crs"}}`), GeometryRules{}, classify.CodeUnknownCRS, RuleCRS, "/crs"},
		{"S1-4_crs_of_the_geometry", feature(`{"type":"Point","coordinates":[1,2],"crs":{"type":"name","properties":{"name":"EPSG:3857"}}}`), GeometryRules{}, classify.CodeCRSConflict, RuleCRS, "/crs"},
		{"S1-4_crs_before_all_else", `{"type":"Feature","crs":"EPSG:3857","geometry":` + bowTie + `,"properties":null}`, GeometryRules{}, classify.CodeCRSConflict, RuleCRS, "/crs"},

		{"S0-8_null_geometry", feature(`null`), GeometryRules{}, "", "", ""},
		{"S0-8_null_geometry_rejected", feature(`null`), GeometryRules{NullGeometry: Reject}, classify.CodeGeometryEmpty, RuleNullGeometry, "/geometry"},
		{"S0-8_is_empty", feature(`{"type":"Polygon","coordinates":[]}`), GeometryRules{}, classify.CodeGeometryEmpty, RuleEmptyGeometry, "/geometry"},
		{"S0-8_is_empty_parts", feature(`{"type":"GeometryCollection","geometries":[{"type":"MultiPolygon","coordinates":[[]]}]}`), GeometryRules{}, classify.CodeGeometryEmpty, RuleEmptyGeometry, "/geometry"},
		{"S0-8_is_empty_accepted", feature(`{"type":"Polygon","coordinates":[]}`), GeometryRules{EmptyGeometry: Accept}, "", "", ""},
		{"S0-8_type_listed", feature(`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}`), polygonsOnly, "", "", ""},
		{"S0-8_type_not_listed", point, polygonsOnly, classify.CodeGeometryType, RuleGeometryType, "/geometry/type"},
		{"S0-8_null_has_no_type", feature(`null`), polygonsOnly, "", "", ""},

		{"S1-4_projected_metres", feature(`{"type":"Point","coordinates":[389213.5,5819123.25]}`), GeometryRules{}, classify.CodeCoordinateRange, RuleRange, "/geometry/coordinates"},
		{"S0-8_latitude_91", feature(`{"type":"LineString","coordinates":[[0,0],[170,91]]}`), GeometryRules{}, classify.CodeCoordinateRange, RuleRange, "/geometry/coordinates/1"},
		{"S0-8_longitude_in_a_collection", feature(`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,1]},{"type":"MultiPolygon","coordinates":[[],[[[0,0],[1,0],[1,1],[0,0]],[[0,0],[1,0],[181,1],[0,0]]]]}]}`), GeometryRules{EmptyGeometry: Accept}, classify.CodeCoordinateRange, RuleRange, "/geometry/geometries/1/coordinates/1/1/2"},
		{"S0-8_at_the_edge", feature(`{"type":"MultiPoint","coordinates":[[180,90],[-180,-90],[180.00000000000003,0]]}`), GeometryRules{}, "", "", ""},

		{"S0-8_is_valid", feature(`{"type":"Polygon","coordinates":[[[0,0],[0,1],[1,1],[0,0]]]}`), GeometryRules{}, "", "", ""},
		{"S0-8_is_valid_bow_tie", feature(bowTie), GeometryRules{}, classify.CodeGeometryInvalid, RuleRingSimple, "/geometry/coordinates/0"},
		{"S0-8_is_valid_flagged", feature(bowTie), GeometryRules{Validity: ValidityFlag}, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := mustNew(t, Config{Geometry: c.rules})
			err := gateError(t, tr, mustDecode(t, tr, c.in))
			if c.code == "" {
				expect.That(t, err == nil, "refused: %v", err)
				return
			}
			must.That(t, err != nil, "it passes")
			e := asError(t, err)
			expect.That(t, e.Code == c.code && e.Rule == string(c.rule) && e.Path == c.path && e.Stage == classify.StageGate && e.Fix != "", "got %s, %s at %q of stage %s: %v", e.Code, e.Rule, e.Path, e.Stage, err)
			failure := classify.Of(err)
			expect.That(t, !failure.Transient(), "S1-2: it would be retried: %+v", failure)
		})
	}
}

// spiked is valid, and touches itself if it is rounded to 6 decimals.
const spiked = `{"type":"Polygon","coordinates":[[[8,47],[8.001,47],[8.001,47.001],[8.0005,47.0000004],[8,47.001],[8,47]]]}`

// The written geometry is judged at its written precision, and is never invalid without a flag.
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
			again, flag, err := applied(t, c.config, feature(got))
			expect.That(t, !strings.HasPrefix(c.flag, "snapped") || err == nil && again == got && flag == "", "a second time it becomes %s, %q, %v", again, flag, err)
		})
	}
}

// The gate set strict has the gates of the first source document.
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
		_, err := geometryOf(t, Config{Geometry: c.rules}, c.geometry)
		expect.That(t, (c.code != "" || err == nil) && (c.code == "" || asError(t, err).Code == c.code), "%v: got %v", name, err)
	}
	keys := func(rules GeometryRules) (keys []string) {
		for _, off := range (Config{Geometry: rules}).GatesOff() {
			keys = append(keys, strings.TrimPrefix(off.Key, "geometry."))
		}
		return keys
	}
	got, want := keys(strict), []string{"types", "coarse", "antimeridian", "bbox"}
	expect.That(t, slices.Equal(got, want), "off in strict: %v, want %v", got, want)
	want = []string{"null_geometry", "dimension", "types", "coarse", "antimeridian", "simplicity", "max_area_change", "bbox"}
	got = keys(GeometryRules{Validity: ValidityRepair})
	expect.That(t, slices.Equal(got, want), "off: %v, want %v", got, want)
}

// A bbox that no geometry can have is refused.
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
		_, err := mustNew(t, Config{Geometry: c.rules}).Apply(t.Context(), []byte(`{"type":"Feature","bbox":`+c.bbox+`,"geometry":`+c.geometry+`,"properties":null}`))
		expect.That(t, (!c.passes || err == nil) && (c.passes || asError(t, err).Code == classify.CodeBBoxMismatch), "%v: got %v", name, err)
	}
}

// Ordinates that exceed their range by rounding are moved back. The message for other ordinates does not call them
// swapped.
func TestRange_at_the_edge_of_the_world(t *testing.T) {
	got, err := geometryOf(t, Config{}, `{"type":"LineString","coordinates":[[180.00000000000003,0],[-180.0000000001,90.0000000001]]}`)
	want := `{"type":"LineString","coordinates":[[180,0],[-180,90]]}`
	expect.That(t, err == nil && got == want, "got %s, %v, want %s", got, err, want)
	_, err = geometryOf(t, Config{}, `{"type":"Point","coordinates":[10,90.0000001]}`)
	e := asError(t, err)
	expect.That(t, strings.Contains(e.Fix, "±90") && !strings.Contains(e.Fix, "swapped"), "got %q", e.Fix)
}

// Every limit is checked, and a record that just meets it passes.
func TestDecodeLimits(t *testing.T) {
	line := feature(`{"type":"LineString","coordinates":[[1,2],[3,4],[5,6]]}`)
	rings := feature(`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]],[[2,1],[3,2],[3,1],[2,1]]]}`)
	nested := feature(strings.Repeat(`{"type":"GeometryCollection","geometries":[`, 3) + `{"type":"Point","coordinates":[1,2]}` + strings.Repeat(`]}`, 3))
	text := withProperties(`{"a":"` + strings.Repeat("x", 48) + `"}`)
	number := withProperties(`{"a":` + strings.Repeat("1", 20) + `}`)
	for _, c := range []struct {
		name, in     string
		passes, hits Limits
		code         classify.Code
		rule         Rule
	}{
		{"max_bytes", line, Limits{MaxBytes: len(line)}, Limits{MaxBytes: len(line) - 1}, classify.CodeRecordTooLarge, RuleBytes},
		{"max_positions", line, Limits{MaxPositions: 3}, Limits{MaxPositions: 2}, classify.CodeLimitExceeded, RulePositions},
		{"max_rings", rings, Limits{MaxRings: 3}, Limits{MaxRings: 2}, classify.CodeLimitExceeded, RuleRings},
		{"max_collection_depth", nested, Limits{MaxCollectionDepth: 3}, Limits{MaxCollectionDepth: 2}, classify.CodeTooDeep, RuleCollectionDepth},
		{"max_depth", rings, Limits{MaxDepth: 5}, Limits{MaxDepth: 4}, classify.CodeTooDeep, RuleDepth},
		{"max_literal_bytes", text, Limits{MaxLiteralBytes: 50}, Limits{MaxLiteralBytes: 49}, classify.CodeLimitExceeded, RuleLiteralBytes},
		{"max_number_bytes", number, Limits{MaxNumberBytes: 20}, Limits{MaxNumberBytes: 19}, classify.CodeLimitExceeded, RuleNumberBytes},
	} {
		t.Run("S0-8_"+c.name, func(t *testing.T) {
			_, err := mustNew(t, Config{Limits: c.passes}).Decode([]byte(c.in))
			expect.That(t, err == nil, "at the limit: %v", err)
			_, err = mustNew(t, Config{Limits: c.hits}).Decode([]byte(c.in))
			must.That(t, err != nil, "beyond the limit it is accepted")
			e := asError(t, err)
			expect.That(t, e.Code == c.code && e.Rule == string(c.rule), "got %s, %s: %v", e.Code, e.Rule, err)
		})
	}
}

// Records that have broken other decoders are refused at once.
func TestDecodeHostile(t *testing.T) {
	tr := mustNew(t, Config{})
	for _, c := range []struct {
		name, in string
		code     classify.Code
	}{
		{"10_MB_record", `{"type":"Feature","geometry":null,"properties":{"a":"` + strings.Repeat("x", 10_000_000) + `"}}`, classify.CodeRecordTooLarge},
		{"100000_open_arrays", strings.Repeat("[", 100_000), classify.CodeTooDeep},
		{"100000_open_arrays_in_properties", `{"properties":{"a":` + strings.Repeat("[", 100_000), classify.CodeTooDeep},
		{"100000_open_arrays_in_a_skipped_member", `{"geometry":{"x":` + strings.Repeat("[", 100_000), classify.CodeTooDeep},
		{"2000_collections", feature(strings.Repeat(`{"type":"GeometryCollection","geometries":[`, 2000)), classify.CodeTooDeep},
		{"wide_empty_rings", feature(`{"type":"Polygon","coordinates":[` + strings.Repeat("[],", 100_000) + `[]]}`), classify.CodeLimitExceeded},
		{"wide_empty_members", feature(`{"type":"GeometryCollection","geometries":[` + strings.Repeat(`{"type":"LineString","coordinates":[]},`, 100_000)), classify.CodeLimitExceeded},
		{"10000_digit_number", withProperties(`{"a":0.` + strings.Repeat("1", 10_000) + `}`), classify.CodeLimitExceeded},
		{"10000_digit_ordinate", feature(`{"type":"Point","coordinates":[0.` + strings.Repeat("1", 10_000) + `,1]}`), classify.CodeLimitExceeded},
	} {
		t.Run("S0-8_"+c.name, func(t *testing.T) {
			_, err := tr.Decode([]byte(c.in))
			must.That(t, err != nil, "it is accepted")
			e := asError(t, err)
			expect.That(t, e.Code == c.code && len([]rune(e.Value)) <= shorten.MaxCharacters, "got %s with a value of %d bytes: %v", e.Code, len(e.Value), err)
		})
	}
}
