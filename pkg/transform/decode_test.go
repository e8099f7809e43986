package transform

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// A record that RFC 7946 allows is encoded as it was written.
func TestDecodeAccepts(t *testing.T) {
	tr := mustNew(t, Config{})
	for _, c := range []struct{ name, in, want string }{
		{"S0-8_null_geometry", `{"type":"Feature","geometry":null,"properties":null}`, ""},
		{"S0-8_empty_properties_are_not_null", `{"type":"Feature","geometry":null,"properties":{}}`, ""},
		{"S0-8_point", feature(`{"type":"Point","coordinates":[1,2]}`), ""},
		{"S0-8_heights_are_kept", feature(`{"type":"LineString","coordinates":[[1,2,3],[4,5,6.5]]}`), ""},
		{"S0-8_heights_of_some_positions", feature(`{"type":"LineString","coordinates":[[1,2],[4,5,6],[7,8]]}`), ""},
		{"S0-8_clockwise_exterior", feature(`{"type":"Polygon","coordinates":[[[0,0],[0,1],[1,1],[0,0]]]}`), ""},
		{"S0-8_multipoint", feature(`{"type":"MultiPoint","coordinates":[[1,2],[3,4]]}`), ""},
		{"S0-8_multilinestring", feature(`{"type":"MultiLineString","coordinates":[[[1,2],[3,4]],[[5,6],[7,8],[9,0]]]}`), ""},
		{"S0-8_multipolygon", feature(`{"type":"MultiPolygon","coordinates":[[[[0,0],[9,0],[9,9],[0,0]],[[2,1],[3,2],[3,1],[2,1]]],[[[20,0],[21,0],[21,1],[20,0]]]]}`), ""},
		{"S0-8_collection", feature(`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2,3]},{"type":"GeometryCollection","geometries":[]},{"type":"LineString","coordinates":[[1,2],[3,4,5]]}]}`), ""},
		{"S0-8_empty_line", feature(`{"type":"LineString","coordinates":[]}`), ""},
		{"S0-8_empty_polygon", feature(`{"type":"Polygon","coordinates":[]}`), ""},
		{"S0-8_empty_part_of_multilinestring", feature(`{"type":"MultiLineString","coordinates":[[[1,2],[3,4]],[]]}`), ""},
		{"S0-8_empty_part_of_multipolygon", feature(`{"type":"MultiPolygon","coordinates":[[]]}`), ""},
		{"S0-8_coordinates_before_type", feature(`{"coordinates":[[[0,0],[0,1],[1,1],[0,0]]],"type":"Polygon"}`),
			feature(`{"type":"Polygon","coordinates":[[[0,0],[0,1],[1,1],[0,0]]]}`)},
		{"S0-8_members_in_any_order", ` {"properties":{"a":1} , "geometry" : null,"type":"Feature","id":7} `, `{"type":"Feature","id":7,"geometry":null,"properties":{"a":1}}`},
		{"S0-8_geometry_bbox_and_foreign_members_left_out", feature(`{"type":"Point","bbox":[1,2,1,2],"title":{"a":[1]},"coordinates":[1,2]}`),
			feature(`{"type":"Point","coordinates":[1,2]}`)},
		{"S0-8_bbox_3d", `{"type":"Feature","bbox":[1,2,3,4,5,6],"geometry":null,"properties":null}`, ""},
		{"S0-8_foreign_members", `{"type":"Feature","geometry":null,"properties":null,"links":[{"rel":"x"}],"place":null}`, ""},
		{"S0-8_integer_id_beyond_2^53", `{"type":"Feature","id":9007199254740993,"geometry":null,"properties":null}`, ""},
		{"S0-8_digits_of_properties", withProperties(`{"a":9007199254740993,"b":1.50,"c":1E2,"d":0.12345678901234567890,"e":-0}`), ""},
		{"S0-8_shortest_ordinates", feature(`{"type":"Point","coordinates":[1.50,1e1]}`), feature(`{"type":"Point","coordinates":[1.5,10]}`)},
		{"S0-8_negative_zero_ordinate", feature(`{"type":"Point","coordinates":[-0.0,-0]}`), feature(`{"type":"Point","coordinates":[0,0]}`)},
		{"S0-8_wrong_case_is_a_name_among_properties", withProperties(`{"Type":"x","type":"y","Coordinates":1}`), ""},
		{"S0-8_escaped_names_and_strings", withProperties(`{"\u0061":"\ud83d\ude00\n"}`), withProperties("{\"a\":\"😀\\n\"}")},
		{"S0-8_deep_enough", withProperties(`{"a":` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + `}`), ""},
	} {
		want := c.want
		if want == "" {
			want = c.in
		}
		expect.Equal(t, mustEncode(t, tr, mustDecode(t, tr, c.in)), want, c.name)
	}
}

// Each fault has its code, its rule and its place.
func TestDecodeRefuses(t *testing.T) {
	tr := mustNew(t, Config{})
	for _, c := range []struct {
		name, in string
		code     classify.Code
		rule     Rule
		path     string
	}{
		{"empty_value", ``, classify.CodeEmptyValue, RuleEmptyValue, ""},
		{"blank_value", " \n", classify.CodeEmptyValue, RuleEmptyValue, ""},
		{"not_json", `hello`, classify.CodeNotJSON, RuleSyntax, ""},
		{"not_json_inside", `{"type":"Feature","geometry":nil}`, classify.CodeNotJSON, RuleSyntax, "/geometry"},
		{"nan", feature(`{"type":"Point","coordinates":[NaN,1]}`), classify.CodeNotJSON, RuleSyntax, "/geometry/coordinates/0"},
		{"byte_order_mark", "\xef\xbb\xbf{}", classify.CodeNotJSON, RuleByteOrderMark, ""},
		{"truncated", `{"type":"Feature","geometry":{"type":"Po`, classify.CodeTruncatedJSON, RuleTruncated, "/geometry/type"},
		{"truncated_array", `[1,2`, classify.CodeTruncatedJSON, RuleTruncated, ""},
		{"truncated_after_name", `{"type"`, classify.CodeTruncatedJSON, RuleTruncated, "/type"},
		{"truncated_at_the_end", `{"type":"Feature","geometry":null,"properties":null`, classify.CodeTruncatedJSON, RuleTruncated, ""},
		{"invalid_utf8", withProperties("{\"a\":\"\xff\"}"), classify.CodeInvalidUTF8, RuleUTF8, "/properties/a"},
		{"invalid_utf8_in_a_name", withProperties("{\"\xff\":1}"), classify.CodeInvalidUTF8, RuleUTF8, "/properties"},
		{"lone_surrogate", withProperties(`{"a":"\ud800"}`), classify.CodeInvalidUTF8, RuleUTF8, "/properties/a"},
		{"lone_low_surrogate", withProperties(`{"a":"x\uDC00"}`), classify.CodeInvalidUTF8, RuleUTF8, "/properties/a"},
		{"duplicate_property", withProperties(`{"a":1,"a":2}`), classify.CodeDuplicateKey, RuleDuplicateMember, "/properties/a"},
		{"duplicate_by_escape", withProperties(`{"a":1,"\u0061":2}`), classify.CodeDuplicateKey, RuleDuplicateMember, "/properties/a"},
		{"duplicate_member", `{"type":"Feature","type":"Feature"}`, classify.CodeDuplicateKey, RuleDuplicateMember, "/type"},
		{"duplicate_in_a_skipped_member", feature(`{"type":"Point","coordinates":[1,2],"x":{"a":1,"a":1}}`), classify.CodeDuplicateKey, RuleDuplicateMember, "/geometry/x/a"},
		{"trailing_data", feature(`null`) + ` {}`, classify.CodeTrailingData, RuleTrailingData, ""},
		{"trailing_garbage", feature(`null`) + `]`, classify.CodeTrailingData, RuleTrailingData, ""},
		{"array", `[]`, classify.CodeNotAFeature, RuleFeatureObject, ""},
		{"string", `"Feature"`, classify.CodeNotAFeature, RuleFeatureObject, ""},
		{"null", `null`, classify.CodeNotAFeature, RuleFeatureObject, ""},
		{"feature_collection", `{"type":"FeatureCollection","features":[]}`, classify.CodeNotAFeature, RuleFeatureObject, "/type"},
		{"feature_collection_without_type", `{"features":[]}`, classify.CodeNotAFeature, RuleMemberMeaning, "/features"},
		{"bare_geometry", `{"type":"Point","coordinates":[1,2]}`, classify.CodeNotAFeature, RuleFeatureObject, "/type"},
		{"bare_geometry_coordinates_first", `{"coordinates":[1,2],"type":"Point"}`, classify.CodeNotAFeature, RuleMemberMeaning, "/coordinates"},
		{"other_type", `{"type":"Topology"}`, classify.CodeNotAFeature, RuleTypeWord, "/type"},
		{"type_in_another_case", `{"type":"feature"}`, classify.CodeNotAFeature, RuleTypeWord, "/type"},
		{"type_no_string", `{"type":1}`, classify.CodeWrongType, RuleMemberType, "/type"},
		{"no_type", `{"geometry":null,"properties":null}`, classify.CodeNotAFeature, RuleMemberMissing, ""},
		{"no_geometry", `{"type":"Feature","properties":null}`, classify.CodeNotAFeature, RuleMemberMissing, ""},
		{"no_properties", `{"type":"Feature","geometry":null}`, classify.CodeNotAFeature, RuleMemberMissing, ""},
		{"wrong_case_type", `{"Type":"Feature"}`, classify.CodeMemberCase, RuleMemberCase, "/Type"},
		{"wrong_case_id", `{"type":"Feature","ID":1}`, classify.CodeMemberCase, RuleMemberCase, "/ID"},
		{"wrong_case_properties", `{"type":"Feature","Properties":{}}`, classify.CodeMemberCase, RuleMemberCase, "/Properties"},
		{"wrong_case_coordinates", feature(`{"type":"Point","Coordinates":[1,2]}`), classify.CodeMemberCase, RuleMemberCase, "/geometry/Coordinates"},
		{"id_null", `{"type":"Feature","id":null}`, classify.CodeWrongType, RuleMemberType, "/id"},
		{"id_object", `{"type":"Feature","id":{}}`, classify.CodeWrongType, RuleMemberType, "/id"},
		{"properties_array", `{"type":"Feature","properties":[]}`, classify.CodeWrongType, RuleMemberType, "/properties"},
		{"properties_string", `{"type":"Feature","properties":"x"}`, classify.CodeWrongType, RuleMemberType, "/properties"},
		{"geometry_array", feature(`[]`), classify.CodeWrongType, RuleMemberType, "/geometry"},
		{"geometry_string", feature(`"POINT(1 2)"`), classify.CodeWrongType, RuleMemberType, "/geometry"},
		{"bbox_of_three", `{"type":"Feature","bbox":[1,2,3]}`, classify.CodeWrongType, RuleBBoxSize, "/bbox"},
		{"bbox_of_seven", `{"type":"Feature","bbox":[1,2,3,4,5,6,7]}`, classify.CodeWrongType, RuleBBoxSize, "/bbox"},
		{"bbox_string", `{"type":"Feature","bbox":[1,2,3,"4"]}`, classify.CodeWrongType, RuleMemberType, "/bbox/3"},
		{"bbox_null_ordinate", `{"type":"Feature","bbox":[1,2,3,null]}`, classify.CodeNullOrdinate, RuleNullOrdinate, "/bbox/3"},
		{"geometry_without_type", feature(`{"coordinates":[1,2]}`), classify.CodeGeometryStructure, RuleMemberMissing, "/geometry"},
		{"geometry_without_coordinates", feature(`{"type":"Point"}`), classify.CodeGeometryStructure, RuleMemberMissing, "/geometry"},
		{"collection_without_geometries", feature(`{"type":"GeometryCollection"}`), classify.CodeGeometryStructure, RuleMemberMissing, "/geometry"},
		{"collection_with_coordinates", feature(`{"type":"GeometryCollection","coordinates":[]}`), classify.CodeGeometryStructure, RuleMemberMissing, "/geometry"},
		{"coordinates_and_geometries", feature(`{"type":"Point","coordinates":[1,2],"geometries":[]}`), classify.CodeGeometryStructure, RuleMemberMeaning, "/geometry/geometries"},
		{"collection_of_null", feature(`{"type":"GeometryCollection","geometries":[null]}`), classify.CodeWrongType, RuleMemberType, "/geometry/geometries/0"},
		{"geometry_with_properties", feature(`{"type":"Point","coordinates":[1,2],"properties":{}}`), classify.CodeGeometryStructure, RuleMemberMeaning, "/geometry/properties"},
		{"unknown_geometry_type", feature(`{"type":"Circle","coordinates":[1,2]}`), classify.CodeGeometryType, RuleTypeWord, "/geometry/type"},
		{"geometry_type_in_another_case", feature(`{"type":"point","coordinates":[1,2]}`), classify.CodeGeometryType, RuleTypeWord, "/geometry/type"},
		{"feature_in_geometry", feature(`{"type":"Feature"}`), classify.CodeGeometryType, RuleTypeWord, "/geometry/type"},
		{"coordinates_null", feature(`{"type":"Point","coordinates":null}`), classify.CodeWrongType, RuleMemberType, "/geometry/coordinates"},
		{"null_ordinate", feature(`{"type":"LineString","coordinates":[[1,2],[null,2]]}`), classify.CodeNullOrdinate, RuleNullOrdinate, "/geometry/coordinates/1/0"},
		{"null_second_ordinate", feature(`{"type":"Point","coordinates":[1,null]}`), classify.CodeNullOrdinate, RuleNullOrdinate, "/geometry/coordinates/1"},
		{"null_position", feature(`{"type":"LineString","coordinates":[[1,2],null]}`), classify.CodeNullOrdinate, RuleNullOrdinate, "/geometry/coordinates/1"},
		{"string_ordinate", feature(`{"type":"Point","coordinates":[1,"2"]}`), classify.CodeWrongType, RuleMemberType, "/geometry/coordinates/1"},
		{"position_of_one", feature(`{"type":"Point","coordinates":[1]}`), classify.CodeGeometryStructure, RulePositionSize, "/geometry/coordinates"},
		{"position_of_none_in_a_line", feature(`{"type":"LineString","coordinates":[[1,2],[],[3,4]]}`), classify.CodeGeometryStructure, RulePositionSize, "/geometry/coordinates/1"},
		{"position_of_four", feature(`{"type":"Point","coordinates":[1,2,3,4]}`), classify.CodeGeometryStructure, RulePositionSize, "/geometry/coordinates"},
		{"number_among_positions", feature(`{"type":"LineString","coordinates":[[1,2],3]}`), classify.CodeWrongType, RuleMemberType, "/geometry/coordinates/1"},
		{"array_among_ordinates", feature(`{"type":"Point","coordinates":[1,[2]]}`), classify.CodeWrongType, RuleMemberType, "/geometry/coordinates/1"},
		{"nested_too_little", feature(`{"type":"Polygon","coordinates":[[1,2],[3,4]]}`), classify.CodeGeometryStructure, RuleNesting, "/geometry/coordinates/0"},
		{"nested_too_deep", feature(`{"type":"Point","coordinates":[[1,2]]}`), classify.CodeGeometryStructure, RuleNesting, "/geometry/coordinates/0"},
		{"nested_too_deep_and_empty", feature(`{"type":"Point","coordinates":[[]]}`), classify.CodeGeometryStructure, RuleNesting, "/geometry/coordinates/0"},
		{"nested_unevenly", feature(`{"type":"MultiLineString","coordinates":[[[1,2],[3,4]],[5,6]]}`), classify.CodeGeometryStructure, RuleNesting, "/geometry/coordinates/1"},
		{"nested_unevenly_deeper", feature(`{"type":"LineString","coordinates":[[1,2],[[3,4]]]}`), classify.CodeGeometryStructure, RuleNesting, "/geometry/coordinates/1"},
		{"nested_five_deep", feature(`{"type":"MultiPolygon","coordinates":[[[[[1]]]]]}`), classify.CodeGeometryStructure, RuleNesting, "/geometry/coordinates/0/0/0"},
		{"line_of_one", feature(`{"type":"LineString","coordinates":[[1,2]]}`), classify.CodeGeometryStructure, RuleLineLength, "/geometry/coordinates"},
		{"point_of_none_among_points", feature(`{"type":"MultiPoint","coordinates":[[1,2],[]]}`), classify.CodeGeometryEmpty, RuleEmptyGeometry, "/geometry/coordinates/1"},
		{"unclosed_ring", feature(`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}`), classify.CodeGeometryStructure, RuleRingClosed, "/geometry/coordinates/0"},
		{"unclosed_hole", feature(`{"type":"MultiPolygon","coordinates":[[[[0,0],[9,0],[9,9],[0,0]],[[2,1],[3,2],[3,1],[2,2]]]]}`), classify.CodeGeometryStructure, RuleRingClosed, "/geometry/coordinates/0/1"},
		{"ring_closed_at_another_height", feature(`{"type":"Polygon","coordinates":[[[0,0,1],[1,0,1],[1,1,1],[0,0,2]]]}`), classify.CodeGeometryStructure, RuleRingClosed, "/geometry/coordinates/0"},
		{"ring_of_three", feature(`{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,0]]]}`), classify.CodeGeometryStructure, RuleRingLength, "/geometry/coordinates/0"},
		{"ring_of_none", feature(`{"type":"Polygon","coordinates":[[]]}`), classify.CodeGeometryStructure, RuleRingLength, "/geometry/coordinates/0"},
		{"ordinate_beyond_double", feature(`{"type":"Point","coordinates":[1e400,0]}`), classify.CodeNumberRange, RuleNumberRange, "/geometry/coordinates/0"},
		{"property_beyond_double", withProperties(`{"a":[1,-1e400]}`), classify.CodeNumberRange, RuleNumberRange, "/properties/a/1"},
		{"id_beyond_double", `{"type":"Feature","id":1e999}`, classify.CodeNumberRange, RuleNumberRange, "/id"},
		{"too_deep", withProperties(`{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`), classify.CodeTooDeep, RuleDepth, "/properties/a" + strings.Repeat("/0", 62)},
	} {
		t.Run("S0-8_"+c.name, func(t *testing.T) {
			_, err := tr.Decode([]byte(c.in))
			must.That(t, err != nil, "Decode(%s) accepts it", c.in)
			e := asError(t, err)
			expect.That(t, e.Code == c.code && e.Rule == string(c.rule) && e.Path == c.path, "got %s, %s at %q; want %s, %s at %q\n%v", e.Code, e.Rule, e.Path, c.code, c.rule, c.path, err)
			expect.That(t, e.Stage == classify.StageDecode && e.Message != "" && e.Fix != "", "stage %q, message %q, fix %q", e.Stage, e.Message, e.Fix)
			failure := classify.Of(err)
			expect.That(t, failure.Code == c.code && failure.Stage == classify.StageDecode && !failure.Transient(), "classified as %+v", failure)
		})
	}
}

// An error has the place in the text and the text there.
func TestDecodePlace(t *testing.T) {
	tr := mustNew(t, Config{})
	for _, c := range []struct {
		name, in     string
		line, column int
		offset       int64
		value        string
	}{
		{"second_line", "{\"type\":\"Feature\",\n \"geometry\": 12}", 2, 14, 32, "12"},
		{"characters_not_bytes", `{"type":"Feature","geometry":null,"properties":{"ä":"😀","b":1e999}}`, 1, 61, 64, "1e999"},
		{"container_cut_at_80", feature(`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}`), 1, 63, 62, `[[0,0],[1,0],[1,1],[0,1]]]},"properties":null}`},
		{"duplicate", withProperties(`{"a":1,"a":2}`), 1, 65, 64, `"a":2}}`},
		{"trailing", feature(`null`) + "\n ]", 2, 2, int64(len(feature(`null`))) + 2, "]"},
	} {
		t.Run("S2-5_"+c.name, func(t *testing.T) {
			_, err := tr.Decode([]byte(c.in))
			e := asError(t, err)
			expect.That(t, e.Line == c.line && e.Column == c.column && e.Offset == c.offset && e.Value == c.value,
				"got line %d, column %d, offset %d, value %q; want %d, %d, %d, %q", e.Line, e.Column, e.Offset, e.Value, c.line, c.column, c.offset, c.value)
		})
	}
}

// An error after the id names the feature.
func TestDecodeNamesTheFeature(t *testing.T) {
	_, err := mustNew(t, Config{}).Decode([]byte(`{"type":"Feature","id":"parcel-7","geometry":{"type":"Point","coordinates":[]}}`))
	e := asError(t, err)
	expect.That(t, e.Feature == "parcel-7" && strings.Contains(err.Error(), `"parcel-7"`), "S1-5: %v does not name the feature", err)
}

// The caller may reuse its bytes after Decode.
func TestDecodeKeepsNothingOfTheRecord(t *testing.T) {
	tr := mustNew(t, Config{})
	record := []byte(`{"type":"Feature","id":"a","geometry":null,"properties":{"name":"abc"}}`)
	f := must.Get(tr.Decode(record))(t)
	want := mustEncode(t, tr, f)
	for i := range record {
		record[i] = 'X'
	}
	expect.Equal(t, mustEncode(t, tr, f), want, "the feature changed with the record")
}

// A geometry that RFC 7946 cannot represent is an error, not bad JSON.
func TestEncodeRefuses(t *testing.T) {
	tr := mustNew(t, Config{})
	for _, c := range []struct {
		name string
		f    Feature
		rule Rule
	}{
		{"nan", Feature{Geometry: Geometry{Shape: orb.Point{math.NaN(), 1}}}, RuleNotFinite},
		{"infinite_height", Feature{Geometry: Geometry{Shape: orb.Point{1, 1}, Z: []float64{math.Inf(1)}}}, RuleNotFinite},
		{"infinite_bbox", Feature{BBox: []float64{0, 0, 1, math.Inf(1)}}, RuleNotFinite},
		{"bare_ring", Feature{Geometry: Geometry{Shape: orb.Ring{{0, 0}}}}, RuleTypeWord},
		{"bound", Feature{Geometry: Geometry{Shape: orb.Collection{orb.Bound{}}}}, RuleTypeWord},
		{"heights_missing", Feature{Geometry: Geometry{Shape: orb.LineString{{0, 0}, {1, 1}}, Z: []float64{1}}}, RulePositionSize},
	} {
		t.Run("S0-8_"+c.name, func(t *testing.T) {
			text, err := tr.Encode(&c.f)
			must.That(t, err != nil, "it becomes %s", text)
			e := asError(t, err)
			expect.That(t, e.Stage == classify.StageEncode && e.Rule == string(c.rule), "got %s of %s: %v", e.Rule, e.Stage, err)
		})
	}
}

// Some differences change the content hash, and others do not.
func TestCanonical(t *testing.T) {
	base := `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`
	tr := mustNew(t, Config{})
	want := string(Canonical(mustDecode(t, tr, base)))
	for _, c := range []struct {
		name, record string
		same         bool
	}{
		{"order_and_space", ` {"properties":{"b":{"d":"\u00e9","c":[1, 2]},"a":1}, "geometry":{"coordinates":[1,2],"type":"Point"},"id":"x","type":"Feature"}`, true},
		{"number_forms", `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1.0,2e0]},"properties":{"a":1.0,"b":{"c":[10e-1,2],"d":"é"}}}`, true},
		{"bbox_and_foreign_members", `{"type":"Feature","id":"x","bbox":[1,2,1,2],"x":1,"geometry":{"type":"Point","coordinates":[1,2],"y":1},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`, true},
		{"other_id", `{"type":"Feature","id":"y","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`, false},
		{"no_id", `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`, false},
		{"other_geometry", `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,3]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`, false},
		{"other_type", `{"type":"Feature","id":"x","geometry":{"type":"MultiPoint","coordinates":[[1,2]]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`, false},
		{"a_height", `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,2,0]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`, false},
		{"array_order", `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1,"b":{"c":[2,1],"d":"é"}}}`, false},
		{"string_for_number", `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":"1","b":{"c":[1,2],"d":"é"}}}`, false},
		{"null_for_missing", `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"},"e":null}}`, false},
	} {
		t.Run("S2-4_"+c.name, func(t *testing.T) {
			got := string(Canonical(mustDecode(t, tr, c.record)))
			expect.That(t, (got == want) == c.same, "got  %s\nbase %s", got, want)
		})
	}
}

// Two 64-bit ids that are the same double have different canonical forms.
func TestCanonicalIsExact(t *testing.T) {
	tr := mustNew(t, Config{})
	for _, pair := range [][2]string{
		{`9007199254740993`, `9007199254740992`},
		{`0.12345678901234567`, `0.123456789012345671`},
		{`1`, `"1"`},
	} {
		a := string(Canonical(mustDecode(t, tr, `{"type":"Feature","id":`+pair[0]+`,"geometry":null,"properties":null}`)))
		b := string(Canonical(mustDecode(t, tr, `{"type":"Feature","id":`+pair[1]+`,"geometry":null,"properties":null}`)))
		expect.That(t, a != b, "S2-4: the ids %s and %s have one form: %s", pair[0], pair[1], a)
	}
	null, empty := Canonical(mustDecode(t, tr, withProperties("null"))), Canonical(mustDecode(t, tr, withProperties("{}")))
	expect.That(t, string(null) == string(empty), "S2-4: null properties have the hash %s, empty ones %s", null, empty)
}

// hostile returns geometries that are expensive to repair: their edges cross in very many places, run very near to each
// other, or lie on each other.
func hostile() map[string]orb.Geometry {
	random := rand.New(rand.NewPCG(1, 0))
	chords := func(n int) orb.Polygon {
		var ring orb.Ring
		for range n {
			ring = append(ring, orb.Point{random.Float64() * 10, random.Float64() * 10})
		}
		return orb.Polygon{rings.Closed(ring...)}
	}
	comb := func(x, y float64) orb.Ring { // the teeth of two combs cross each other everywhere
		var ring orb.Ring
		for i := range 500 {
			ring = append(ring, orb.Point{float64(2*i) * x, float64(2*i) * y}, orb.Point{float64(2*i+1)*x + y*60, float64(2*i+1)*y + x*60})
		}
		return rings.Closed(append(ring, orb.Point{60 * x, -y}, orb.Point{-x, -y})...)
	}
	triangles, holes := orb.MultiPolygon{}, orb.Polygon{rings.Box(5, 5, 4)}
	for i := range 2_000 {
		d := float64(i) / 10_000
		triangles = append(triangles, orb.Polygon{{{-50 + d, -50}, {50 + d, -50}, {d, 50 + d}, {-50 + d, -50}}})
		holes = append(holes, rings.Box(5, 5, 1+d))
	}
	var nested orb.Ring
	for i := range 5_000 {
		nested = append(nested, orb.Point{0, 0}, orb.Point{float64(i+1) / 1_000, 0})
	}
	return map[string]orb.Geometry{
		"few_chords": chords(560), "chords": chords(2_000), "triangles": triangles, "overlapping_holes": holes,
		"combs": orb.Polygon{comb(0.05, 0), comb(0, 0.05)}, "nested": orb.Polygon{rings.Closed(append(nested, orb.Point{0, 5})...)},
	}
}

// The work of a repair is bounded for every geometry. The error for a geometry that exceeds a limit names it by code,
// rule and message.
func TestRepair_S1_9_hostile_geometries_are_bounded(t *testing.T) {
	six, two := 6, 2
	repair := GeometryRules{Validity: ValidityRepair, Antimeridian: AntimeridianCut}
	for _, decimals := range []*int{nil, &six, &two} {
		tr := mustNew(t, Config{Geometry: roundedTo(repair, decimals)})
		for name, shape := range hostile() {
			record := []byte(mustEncode(t, tr, &Feature{Geometry: Geometry{Shape: shape}}))
			t.Run(name, func(t *testing.T) { bounded(t, tr, record) })
		}
	}
}

// bounded applies a mapping to a record. The result is a valid geometry, or an error that names the limit.
func bounded(t *testing.T, tr *Transformer, record []byte) {
	t.Helper()
	out, err := tr.Apply(t.Context(), record)
	if err != nil {
		e := asError(t, err)
		expect.That(t, e.Code == classify.CodeLimitExceeded && strings.Contains(e.Message, "limits."+e.Rule) && strings.Contains(e.Fix, "limits."+e.Rule), "got %s, %s: %v", e.Code, e.Rule, e)
	} else if v, err := violationOf(t.Context(), out.Geometry.Shape); v != nil || err != nil {
		t.Errorf("became invalid: %v, %v", v, err)
	}
}

// A deadline ends a repair that is within its limits.
func TestRepair_S1_9_ends_with_its_deadline(t *testing.T) {
	tr := mustNew(t, Config{Geometry: GeometryRules{Validity: ValidityRepair}, Limits: Limits{MaxCrossings: 1 << 30}})
	for name, shape := range hostile() {
		if name != "chords" && name != "triangles" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := tr.Apply(ctx, []byte(mustEncode(t, tr, &Feature{Geometry: Geometry{Shape: shape}})))
			expect.That(t, errors.Is(err, context.DeadlineExceeded) && classify.Of(err).Transient(), "got %v", err)
		})
	}
}

// The size of the written text is bounded too.
func TestEncode_S1_9_output_is_bounded(t *testing.T) {
	tr := mustNew(t, Config{Limits: Limits{MaxOutputBytes: 100}, Constants: map[string]any{"long": strings.Repeat("x", 100)}})
	f, err := tr.Apply(t.Context(), []byte(withProperties(`{}`)))
	must.Do(t, err)
	_, err = tr.Encode(f)
	e := asError(t, err)
	expect.That(t, e.Code == classify.CodeLimitExceeded && e.Rule == string(RuleOutputBytes) && strings.Contains(e.Message, fmt.Sprint("limits.", RuleOutputBytes)), "got %v", e)
}
