package transform

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// apply runs one record through a mapping and returns its properties.
func apply(tb testing.TB, config Config, record string) (string, error) {
	tb.Helper()
	tr := mustNew(tb, config)
	f, err := tr.Apply(tb.Context(), []byte(record))
	if err != nil {
		return "", err
	}
	_, properties, _ := strings.Cut(mustEncode(tb, tr, f), `"properties":`)
	return strings.TrimSuffix(properties, "}"), nil
}

func TestMapProperties(t *testing.T) {
	flat := &Flatten{}
	for _, c := range []struct {
		name     string
		config   Config
		in, want string
	}{
		{"identity", Config{}, `{"b":{"x":1},"a":[1,2],"c":null}`, `{"b":{"x":1},"a":[1,2],"c":null}`},
		{"identity_of_null", Config{}, `null`, `null`},
		{"rename", Config{Fields: []Field{{From: "PARZ_ID", To: "parcel_id"}}, Unmapped: UnmappedDrop}, `{"PARZ_ID":"17","x":1}`, `{"parcel_id":"17"}`},
		{"order_of_the_config", Config{Fields: []Field{{To: "b"}, {To: "a"}}, Unmapped: UnmappedDrop}, `{"a":1,"b":2}`, `{"b":2,"a":1}`},
		{"dotted_path", Config{Fields: []Field{{From: "a.b.c", To: "x"}}, Unmapped: UnmappedDrop}, `{"a":{"b":{"c":1}}}`, `{"x":1}`},
		{"exact_name_with_dots_first", Config{Fields: []Field{{From: "a.b", To: "x"}}, Unmapped: UnmappedDrop}, `{"a":{"b":1},"a.b":2}`, `{"x":2}`},
		{"names_with_dots_on_the_path", Config{Fields: []Field{{From: "a.b.c.d", To: "x"}}, Unmapped: UnmappedDrop}, `{"a":{"z":0},"a.b":{"c.d":3}}`, `{"x":3}`},
		{"array_index", Config{Fields: []Field{{From: "tags.1", To: "x"}, {From: "list.0.n", To: "y"}}, Unmapped: UnmappedDrop}, `{"tags":["a","b"],"list":[{"n":7}]}`, `{"x":"b","y":7}`},
		{"missing_optional_is_left_out", Config{Fields: []Field{{From: "a.b", To: "x"}, {To: "y"}}, Unmapped: UnmappedDrop}, `{"a":{}}`, `{}`},
		{"null_on_the_path_is_missing", Config{Fields: []Field{{From: "a.b", To: "x"}}, Unmapped: UnmappedDrop}, `{"a":null}`, `{}`},
		{"null_stays_null", Config{Fields: []Field{{To: "x", Type: TypeInteger}}}, `{"x":null}`, `{"x":null}`},
		{"null_words", Config{Fields: []Field{{To: "a", NullValues: []any{"N/A", ""}}, {To: "b", Type: TypeNumber, NullValues: []any{-9999, "none"}}, {To: "c", NullValues: []any{"N/A"}}}},
			`{"a":"","b":-9999.0,"c":"n/a"}`, `{"a":null,"b":null,"c":"n/a"}`},
		{"on_error_null", Config{Fields: []Field{{To: "a", Type: TypeInteger, OnError: OnErrorNull}}}, `{"a":"x"}`, `{"a":null}`},
		{"on_error_default", Config{Fields: []Field{{To: "a", Type: TypeInteger, OnError: OnErrorDefault, Default: 5}}}, `{"a":"x"}`, `{"a":5}`},
		{"default_for_missing", Config{Fields: []Field{{To: "a", Required: true, OnError: OnErrorDefault, Default: "none"}}}, `{}`, `{"a":"none"}`},
		{"default_for_null_word", Config{Fields: []Field{{To: "a", NullValues: []any{""}, OnError: OnErrorDefault, Default: "none"}}}, `{"a":""}`, `{"a":"none"}`},
		{"default_for_blocked_path", Config{Fields: []Field{{From: "a.b", To: "x", OnError: OnErrorDefault, Default: 1}}, Unmapped: UnmappedDrop}, `{"a":"text"}`, `{"x":1}`},
		{"null_for_blocked_path", Config{Fields: []Field{{From: "a.b", To: "x", OnError: OnErrorNull}}, Unmapped: UnmappedDrop}, `{"a":7}`, `{"x":null}`},
		{"constants_last_by_name", Config{Constants: map[string]any{"z": 1, "y": []any{true, nil}}}, `{"a":1}`, `{"a":1,"y":[true,null],"z":1}`},
		{"constant_replaces", Config{Constants: map[string]any{"a": "new"}}, `{"a":"old","b":1}`, `{"b":1,"a":"new"}`},
		{"constant_into_null", Config{Constants: map[string]any{"a": 1}}, `null`, `{"a":1}`},
		{"keep_leaves_what_was_read", Config{Fields: []Field{{From: "a", To: "x"}}}, `{"b":1,"a":2,"c":3}`, `{"x":2,"b":1,"c":3}`},
		{"keep_what_is_left_of_an_object", Config{Fields: []Field{{From: "o.n", To: "x"}}}, `{"o":{"n":1,"m":2},"p":{"q":{}}}`, `{"x":1,"o":{"m":2},"p":{"q":{}}}`},
		{"keep_no_emptied_object", Config{Fields: []Field{{From: "o.p.n", To: "x"}}}, `{"o":{"p":{"n":1}}}`, `{"x":1}`},
		{"keep_arrays_whole", Config{Fields: []Field{{From: "a.0", To: "x"}}}, `{"a":[1,2]}`, `{"x":1,"a":[1,2]}`},
		{"one_source_two_fields", Config{Fields: []Field{{From: "a", To: "x"}, {From: "a", To: "y", Type: TypeString}}}, `{"a":1}`, `{"x":1,"y":"1"}`},

		{"flatten", Config{Flatten: flat}, `{"o":{"n":"x","p":{"q":1}},"k":[{"a":1}]}`, `{"o_n":"x","o_p_q":1,"k":[{"a":1}]}`},
		{"flatten_separator", Config{Flatten: &Flatten{Separator: "."}}, `{"o":{"n":1}}`, `{"o.n":1}`},
		{"flatten_depth", Config{Flatten: &Flatten{MaxDepth: 1}}, `{"a":{"b":{"c":1},"d":2}}`, `{"a_b":{"c":1},"a_d":2}`},
		{"flatten_keeps_empty_objects", Config{Flatten: flat}, `{"a":{},"b":{"c":{}}}`, `{"a":{},"b_c":{}}`},
		{"flatten_array_index", Config{Flatten: &Flatten{Arrays: ArraysIndex}}, `{"t":["a",{"b":1}],"e":[]}`, `{"t_0":"a","t_1_b":1,"e":[]}`},
		{"flatten_mapped_object", Config{Fields: []Field{{From: "o", To: "owner"}}, Flatten: flat, Unmapped: UnmappedDrop}, `{"o":{"name":"x"}}`, `{"owner_name":"x"}`},
		{"flattened_name_as_source", Config{Fields: []Field{{From: "o_name", To: "owner"}}, Flatten: flat}, `{"o":{"name":"x","age":3}}`, `{"owner":"x","o_age":3}`},
	} {
		t.Run("S0-10_"+c.name, func(t *testing.T) {
			got, err := apply(t, c.config, withProperties(c.in))
			expect.That(t, err == nil && got == c.want, "got  %s, %v\nwant %s", got, err, c.want)
		})
	}
}

func TestMapRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		in     string
		code   classify.Code
		path   string
		rule   string
		value  string
	}{
		{"S1-2_missing_required", Config{Fields: []Field{{To: "a"}, {From: "b.c", To: "d", Required: true}}}, `{"b":{}}`, classify.CodeMissingRequired, "/properties/b/c", "fields[1]", ""},
		{"S1-2_null_required", Config{Fields: []Field{{To: "a", Required: true}}}, `{"a":null}`, classify.CodeMissingRequired, "/properties/a", "fields[0]", ""},
		{"S1-2_null_word_required", Config{Fields: []Field{{To: "a", Required: true, NullValues: []any{"N/A"}}}}, `{"a":"N/A"}`, classify.CodeMissingRequired, "/properties/a", "fields[0]", ""},
		{"S1-2_required_of_no_properties", Config{Fields: []Field{{To: "a", Required: true}}}, `null`, classify.CodeMissingRequired, "/properties/a", "fields[0]", ""},
		{"S0-10_coercion", Config{Fields: []Field{{From: "A/B", To: "a", Type: TypeInteger}}}, `{"A/B":"12 ha"}`, classify.CodeCoercionFailed, "/properties/A~1B", "fields[0]", `"12 ha"`},
		{"S1-5_type_error_in_nesting", Config{Fields: []Field{{From: "owner.name", To: "n"}}}, `{"owner":"Smith"}`, classify.CodeWrongType, "/properties/owner/name", "fields[0]", `"Smith"`},
		{"S1-5_type_error_in_flattening", Config{Fields: []Field{{From: "o.a", To: "x", Type: TypeNumber}}, Flatten: &Flatten{}}, `{"o":{"a":{"b":1}}}`, classify.CodeCoercionFailed, "/properties/o/a", "fields[0]", `{"b":1}`},
		{"S0-10_flatten_conflict", Config{Flatten: &Flatten{}}, `{"a_b":1,"a":{"b":2}}`, classify.CodeFlattenConflict, "/properties/a", string(RuleFlattenedNames), "2"},
		{"S0-10_conflict_of_field_and_kept", Config{Fields: []Field{{From: "A", To: "b"}}}, `{"A":1,"b":2}`, classify.CodeFlattenConflict, "/properties/b", string(RuleFlattenedNames), "2"},
		{"S0-10_conflict_among_many", Config{Flatten: &Flatten{}}, `{` + manyProperties(60) + `,"p":{"1":0}}`, classify.CodeFlattenConflict, "/properties/p", string(RuleFlattenedNames), "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := apply(t, c.config, withProperties(c.in))
			must.That(t, err != nil, "it passes: %s", got)
			e := asError(t, err)
			expect.That(t, e.Code == c.code && e.Path == c.path && e.Rule == c.rule && e.Value == c.value && e.Stage == classify.StageTransform,
				"got %s at %q by %s with %q, stage %s: %v", e.Code, e.Path, e.Rule, e.Value, e.Stage, err)
			expect.That(t, e.Feature == "f1" && e.Fix != "", "S1-5: feature %q, fix %q", e.Feature, e.Fix)
			failure := classify.Of(err)
			expect.That(t, !failure.Transient(), "S1-9: a local rule would be retried: %+v", failure)
		})
	}
}

// manyProperties returns members p_0 to p_n-1.
func manyProperties(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = `"p_` + decimal(i) + `":1`
	}
	return strings.Join(members, ",")
}

// Map does not change the source feature, which is hashed and audited afterwards.
func TestMapLeavesItsInputAlone(t *testing.T) {
	decimals := 1
	tr := mustNew(t, Config{Fields: []Field{{From: "o.n", To: "x"}}, Constants: map[string]any{"a": 1}, Flatten: &Flatten{},
		Geometry: GeometryRules{Validity: ValidityFlag, RoundDecimals: &decimals}})
	f := mustDecode(t, tr, `{"type":"Feature","id":1,"bbox":[0.11,0,2,2],"geometry":{"type":"MultiPolygon","coordinates":[[[[0.11,0,1],[2,2,2],[2,0,3],[0,2,4],[0.11,0,1]]]]},"properties":{"a":0,"o":{"n":1,"m":2}},"x":1}`)
	before, hash := mustEncode(t, tr, f), string(Canonical(f))
	gates := must.Get(tr.Gate(t.Context(), f))(t)
	out := must.Get(tr.Map(t.Context(), f, gates))(t)
	out.SetProperty("x", StringValue("changed"))
	out.SetProperty("new", NullValue())
	after := mustEncode(t, tr, f)
	expect.That(t, after == before && string(Canonical(f)) == hash, "got  %s\nwant %s", after, before)
}

func TestValidate(t *testing.T) {
	tr := mustNew(t, Config{
		Fields:  []Field{{To: "id", Type: TypeInteger, Required: true}, {To: "place", Required: true}, {To: "area", Type: TypeNumber}, {From: "o", To: "o", Required: true}},
		Flatten: &Flatten{},
	})
	good := `{"id":1,"place":"Vaduz","o_name":"x"}`
	for _, c := range []struct {
		name, properties string
		code             classify.Code
		path             string
	}{
		{"good", good, "", ""},
		{"null_optional", `{"id":1,"place":"Vaduz","area":null,"o":1}`, "", ""},
		{"missing", `{"id":1,"o":1}`, classify.CodeMissingRequired, "/properties/place"},
		{"null", `{"id":1,"place":null,"o":1}`, classify.CodeMissingRequired, "/properties/place"},
		{"wrong_type", `{"id":"1","place":"x","o":1}`, classify.CodeWrongType, "/properties/id"},
		{"fraction_for_integer", `{"id":1.5,"place":"x","o":1}`, classify.CodeWrongType, "/properties/id"},
		{"wrong_type_optional", `{"id":1,"place":"x","area":"1","o":1}`, classify.CodeWrongType, "/properties/area"},
		{"flattened_to_nothing", `{"id":1,"place":"x"}`, classify.CodeMissingRequired, "/properties/o"},
	} {
		t.Run("S0-8_"+c.name, func(t *testing.T) {
			err := tr.Validate(mustDecode(t, tr, withProperties(c.properties)))
			if c.code == "" {
				expect.Do(t, err)
				return
			}
			must.That(t, err != nil, "it passes")
			e := asError(t, err)
			expect.That(t, e.Code == c.code && e.Path == c.path && e.Stage == classify.StageValidate && e.Feature == "f1", "got %s at %s, stage %s: %v", e.Code, e.Path, e.Stage, err)
		})
	}
}

// geometryOf runs a geometry through a mapping.
func geometryOf(tb testing.TB, config Config, geometry string) (string, error) {
	tb.Helper()
	tr := mustNew(tb, config)
	f, err := tr.Apply(tb.Context(), []byte(feature(geometry)))
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(mustEncode(tb, tr, f), `"geometry":`)
	out, _, _ := strings.Cut(rest, `,"properties"`)
	return out, nil
}

func TestPrecision(t *testing.T) {
	for _, c := range []struct {
		name     string
		decimals int
		in, want string
	}{
		{"rounds", 2, `{"type":"Point","coordinates":[1.23456,-7.891]}`, `{"type":"Point","coordinates":[1.23,-7.89]}`},
		{"half_away_from_zero", 0, `{"type":"MultiPoint","coordinates":[[0.5,-0.5],[1.5,-1.5],[2.5,-2.5]]}`, `{"type":"MultiPoint","coordinates":[[1,-1],[2,-2],[3,-3]]}`},
		{"no_negative_zero", 1, `{"type":"Point","coordinates":[-0.04,-0.01]}`, `{"type":"Point","coordinates":[0,0]}`},
		{"heights_stay", 1, `{"type":"Point","coordinates":[1.26,2.22,3.33333]}`, `{"type":"Point","coordinates":[1.3,2.2,3.33333]}`},
		{"15_decimals", 15, `{"type":"Point","coordinates":[179.123456789012345,1]}`, `{"type":"Point","coordinates":[179.12345678901235,1]}`},
		{"collection", 0, `{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1.4,1]},{"type":"MultiLineString","coordinates":[[[1.2,1],[2.2,2]]]}]}`,
			`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,1]},{"type":"MultiLineString","coordinates":[[[1,1],[2,2]]]}]}`},
		{"repeated_positions_stay", 0, `{"type":"LineString","coordinates":[[0,0],[0.1,0],[5,5]]}`, `{"type":"LineString","coordinates":[[0,0],[0,0],[5,5]]}`},
	} {
		t.Run("S0-3_"+c.name, func(t *testing.T) {
			got, err := geometryOf(t, Config{Geometry: GeometryRules{RoundDecimals: &c.decimals}}, c.in)
			must.That(t, err == nil && got == c.want, "got %s, %v; want %s", got, err, c.want)
			again, err := geometryOf(t, Config{Geometry: GeometryRules{RoundDecimals: &c.decimals}}, got)
			expect.That(t, err == nil && again == got, "a second time it becomes %s, %v", again, err)
		})
	}
}

// Rounding never leaves a ring or a line of which nothing is left.
func TestCollapse(t *testing.T) {
	decimals := 0
	for _, c := range []struct{ name, in, path string }{
		{"ring_to_a_point", `{"type":"Polygon","coordinates":[[[0,0],[0.1,0],[0.1,0.1],[0,0]]]}`, "/geometry/coordinates/0"},
		{"ring_to_a_line", `{"type":"Polygon","coordinates":[[[0,0],[5,0],[5,0.4],[0,0.4],[0,0]]]}`, "/geometry/coordinates/0"},
		{"hole", `{"type":"MultiPolygon","coordinates":[[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[1,1],[1.1,1.1],[1.1,1],[1,1]]]]}`, "/geometry/coordinates/0/1"},
		{"line", `{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":[[0,0],[0.1,0.1]]}]}`, "/geometry/geometries/0/coordinates"},
	} {
		t.Run("S0-3_"+c.name, func(t *testing.T) {
			_, err := geometryOf(t, Config{Geometry: GeometryRules{RoundDecimals: &decimals, OutputValidity: OutputReject}}, c.in)
			must.That(t, err != nil, "reject lets it pass")
			e := asError(t, err)
			expect.That(t, e.Code == classify.CodeGeometryInvalid && e.Rule == string(RuleCollapsed) && e.Path == c.path && e.Stage == classify.StageTransform, "got %s, %s at %s of %s", e.Code, e.Rule, e.Path, e.Stage)
			flag := Config{Geometry: GeometryRules{RoundDecimals: &decimals, OutputValidity: OutputFlag}}
			got, err := geometryOf(t, flag, c.in)
			expect.That(t, err == nil && got == c.in, "flag results in %s, %v; want it unrounded", got, err)
			properties, err := apply(t, flag, feature(c.in))
			want := `{"switchback_geometry_invalid":"collapsed_by_precision (` + c.path + `)"}`
			expect.That(t, err == nil && properties == want, "flag gives %s, %v; want %s", properties, err, want)
		})
	}
}

// roundedTo returns the rules with a number of decimals; nil rounds nothing.
func roundedTo(rules GeometryRules, decimals *int) GeometryRules {
	rules.RoundDecimals = decimals
	return rules
}
