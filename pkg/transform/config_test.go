package transform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// Each faulty config has one fault, with its path in the YAML.
func TestConfigFaults(t *testing.T) {
	sixteen, minus, two := 16, -1, 2.0
	for _, c := range []struct {
		name   string
		config Config
		paths  []string
	}{
		{"nothing", Config{}, nil},
		{"no_target", Config{Fields: []Field{{From: "a"}}}, []string{"fields[0].to"}},
		{"two_rules_one_field", Config{Fields: []Field{{To: "a"}, {From: "b", To: "a"}}}, []string{"fields[1].to"}},
		{"unknown_type", Config{Fields: []Field{{To: "a"}, {To: "b", Type: "int"}}}, []string{"fields[1].type"}},
		{"unknown_on_error", Config{Fields: []Field{{To: "a", OnError: "skip"}}}, []string{"fields[0].on_error"}},
		{"required_and_null", Config{Fields: []Field{{To: "a", Required: true, OnError: OnErrorNull}}}, []string{"fields[0].on_error"}},
		{"default_without_on_error", Config{Fields: []Field{{To: "a", Default: 1}}}, []string{"fields[0].default"}},
		{"on_error_without_default", Config{Fields: []Field{{To: "a", OnError: OnErrorDefault}}}, []string{"fields[0].default"}},
		{"default_of_another_type", Config{Fields: []Field{{To: "a", Type: TypeInteger, OnError: OnErrorDefault, Default: "1"}}}, []string{"fields[0].default"}},
		{"default_that_json_has_not", Config{Fields: []Field{{To: "a", OnError: OnErrorDefault, Default: math.NaN()}}}, []string{"fields[0].default"}},
		{"null_word_list", Config{Fields: []Field{{To: "a", NullValues: []any{"", []any{}}}}}, []string{"fields[0].null_values[1]"}},
		{"constant_and_field", Config{Fields: []Field{{To: "a"}}, Constants: map[string]any{"a": 1}}, []string{"constants.a"}},
		{"constant_that_json_has_not", Config{Constants: map[string]any{"a": []any{math.Inf(1)}}}, []string{"constants.a"}},
		{"constant_without_name", Config{Constants: map[string]any{"": 1}}, []string{"constants"}},
		{"flatten_depth", Config{Flatten: &Flatten{MaxDepth: -1}}, []string{"flatten.max_depth"}},
		{"flatten_arrays", Config{Flatten: &Flatten{Arrays: "join"}}, []string{"flatten.arrays"}},
		{"unmapped", Config{Unmapped: "Keep"}, []string{"unmapped"}},
		{"source_crs", Config{Geometry: GeometryRules{SourceCRS: "EPSG:31465"}}, []string{"geometry.source_crs"}},
		{"target_crs", Config{Geometry: GeometryRules{TargetCRS: "EPSG:1"}}, []string{"geometry.target_crs"}},
		{"validity", Config{Geometry: GeometryRules{Validity: "mend"}}, []string{"geometry.validity"}},
		{"null_geometry", Config{Geometry: GeometryRules{NullGeometry: "yes"}}, []string{"geometry.null_geometry"}},
		{"empty_geometry", Config{Geometry: GeometryRules{EmptyGeometry: "no"}}, []string{"geometry.empty_geometry"}},
		{"geometry_type", Config{Geometry: GeometryRules{Types: []GeometryType{Polygon, "polygon"}}}, []string{"geometry.types[1]"}},
		{"large_patterns", Config{Fields: []Field{{To: "a", Extract: "(" + strings.Repeat(`[\pL\pN]`, 100) + "){1000}"}, {To: "b", Extract: "([a-c])"}}}, []string{"fields[0].extract"}},
		{"flag_and_field", Config{Fields: []Field{{To: "bad"}}, Geometry: GeometryRules{Validity: ValidityFlag, FlagProperty: "bad"}}, []string{"geometry.flag_property"}},
		{"flag_and_constant", Config{Constants: map[string]any{"bad": 1}, Geometry: GeometryRules{Validity: ValidityFlag, FlagProperty: "bad"}}, []string{"geometry.flag_property"}},
		{"negative_limits", Config{Limits: Limits{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1}},
			[]string{"limits.max_bytes", "limits.max_depth", "limits.max_collection_depth", "limits.max_positions", "limits.max_rings", "limits.max_crossings", "limits.max_output_positions", "limits.max_output_bytes", "limits.max_literal_bytes", "limits.max_number_bytes"}},
		{"output_validity", Config{Geometry: GeometryRules{OutputValidity: "round"}}, []string{"geometry.output_validity"}},
		{"gates", Config{Geometry: GeometryRules{Gates: "lax"}}, []string{"geometry.gates"}},
		{"max_area_change", Config{Geometry: GeometryRules{MaxAreaChange: &two}}, []string{"geometry.max_area_change"}},
		{"snap_and_field", Config{Fields: []Field{{To: DefaultFlagProperty}}}, []string{"geometry.flag_property"}},
		{"deepest_limit", Config{Limits: Limits{MaxDepth: 1001}}, []string{"limits.max_depth"}},
		{"precision", Config{Geometry: GeometryRules{RoundDecimals: &sixteen}}, []string{"geometry.round_decimals"}},
		{"negative_precision", Config{Geometry: GeometryRules{RoundDecimals: &minus}}, []string{"geometry.round_decimals"}},
		{"min_decimals", Config{MinDecimals: &sixteen}, []string{"min_decimals"}},
		{"coarse_without_decimals", Config{Geometry: GeometryRules{Coarse: Accept}}, []string{"geometry.coarse"}},
		{"other_types_of_all", Config{Geometry: GeometryRules{OtherTypes: ValidityRepair}}, []string{"geometry.other_types"}},
		{"meridian_in_metres", Config{Geometry: GeometryRules{SourceCRS: "EPSG:25832", TargetCRS: "EPSG:3857", Antimeridian: AntimeridianCut}}, []string{"geometry.antimeridian"}},
		{"geometry_words", Config{Geometry: GeometryRules{DeclaredCRS: "a", Simplicity: "a", Antimeridian: "a", Dimension: "a", BBox: "a"}},
			[]string{"geometry.declared_crs", "geometry.simplicity", "geometry.antimeridian", "geometry.dimension", "geometry.bbox"}},
		{"every_fault_at_once", Config{Unmapped: "x", Fields: []Field{{}, {To: "a", Type: "x"}}}, []string{"fields[0].to", "fields[1].type", "unmapped"}},
	} {
		t.Run("S0-1_"+c.name, func(t *testing.T) {
			_, err := New(c.config)
			var faults *ConfigError
			if c.paths == nil {
				expect.Do(t, err)
				return
			}
			must.That(t, errors.As(err, &faults), "%v is no *ConfigError", err)
			var paths []string
			for _, fault := range faults.Faults {
				paths = append(paths, fault.Path)
				expect.That(t, fault.Message != "" && fault.Fix != "" && strings.Contains(err.Error(), fault.String()), "%+v does not suggest what to do", fault)
			}
			expect.That(t, reflect.DeepEqual(paths, c.paths), "got %q, want %q", paths, c.paths)
		})
	}
}

// In YAML, `on_error: null` is the null value. It must not be read as an absent key.
func TestConfigYAML(t *testing.T) {
	for text, want := range map[string]OnError{`on_error: null`: OnErrorNull, `on_error: "null"`: OnErrorNull, `on_error: default`: OnErrorDefault, `to: a`: ""} {
		var got Field
		err := yaml.Unmarshal([]byte(text), &got)
		expect.That(t, err == nil && got.OnError == want, "%s gives %q, %v", text, got.OnError, err)
	}
	expect.That(t, yaml.Unmarshal([]byte("to: {}"), new(Field)) != nil, "a field whose name is an object is accepted")
}

// teaching returns one failing record for each key of the mapping that can refuse a record.
func teaching() []struct {
	key    string // place of the rule in the mapping
	config Config
	record string
} {
	zero, five := 0, 5
	polygon := func(ring string) string { return feature(`{"type":"Polygon","coordinates":[` + ring + `]}`) }
	point := feature(`{"type":"Point","coordinates":[1,2]}`)
	property := `{"type":"Feature","id":"f","geometry":null,"properties":{"x":"no"}}`
	field := func(f Field) Config { return Config{Fields: []Field{{To: "y"}, f}} }
	return []struct {
		key    string
		config Config
		record string
	}{
		{"limits.max_bytes", Config{Limits: Limits{MaxBytes: 10}}, point},
		{"limits.max_depth", Config{Limits: Limits{MaxDepth: 4}}, `{"type":"Feature","geometry":null,"properties":{"x":[[[[1]]]]}}`},
		{"limits.max_positions", Config{Limits: Limits{MaxPositions: 2}}, polygon(`[[0,0],[1,0],[1,1],[0,0]]`)},
		{"geometry.source_crs", Config{}, withCRS(`"EPSG:3857"`)},
		{"geometry.source_crs", Config{}, feature(`{"type":"Point","coordinates":[1,200]}`)},
		{"geometry.null_geometry", Config{Geometry: GeometryRules{NullGeometry: Reject}}, feature("null")},
		{"geometry.empty_geometry", Config{}, feature(`{"type":"MultiPoint","coordinates":[]}`)},
		{"geometry.types", Config{Geometry: GeometryRules{Types: []GeometryType{Polygon}}}, point},
		{"geometry.dimension", Config{Geometry: GeometryRules{Dimension: DimensionRejectZ}}, feature(`{"type":"Point","coordinates":[1,2,3]}`)},
		{"geometry.dimension", Config{Geometry: GeometryRules{Dimension: DimensionRequireZ}}, point},
		{"geometry.coarse", Config{MinDecimals: &five, Geometry: GeometryRules{Coarse: Reject}}, point},
		{"geometry.antimeridian", Config{Geometry: GeometryRules{Antimeridian: AntimeridianReject}}, feature(`{"type":"LineString","coordinates":[[170,0],[-170,0]]}`)},
		{"geometry.simplicity", Config{Geometry: GeometryRules{Simplicity: Reject}}, feature(`{"type":"LineString","coordinates":[[0,0],[2,2],[2,0],[0,2]]}`)},
		{"geometry.validity", Config{}, feature(bowTie)},
		{"geometry.validity", Config{Geometry: GeometryRules{RoundDecimals: &zero}}, polygon(`[[0,0],[0.1,0],[0.1,0.1],[0,0]]`)},
		{"geometry.bbox", Config{Geometry: GeometryRules{BBox: BBoxCheck}}, `{"type":"Feature","bbox":[0,0,1,1],"geometry":{"type":"Point","coordinates":[1,2]},"properties":null}`},
		{"filter", Config{Filter: `properties.x > 1`}, property},
		{"id", Config{ID: &IDRule{From: "properties.none"}}, property},
		{"fields[1]", field(Field{To: "z", Required: true}), property},
		{"fields[1]", field(Field{From: "x", To: "z", Type: TypeNumber}), property},
		{"fields[1]", field(Field{From: "x", To: "z", Type: TypeEnum, Values: []string{"a"}}), property},
		{"fields[1]", field(Field{From: "x", To: "z", Map: map[string]any{"a": 1}}), property},
		{"fields[1]", field(Field{From: "x", To: "z", Extract: "^([0-9])$"}), property},
		{"fields[1]", field(Field{To: "z", Expr: "properties.x * 2"}), property},
	}
}

// Every error has its code, its rule and the line of the rule, the place in the record, the value if there is one, and a
// fix.
func TestErrors_S0_8_teach(t *testing.T) {
	for i, c := range teaching() {
		t.Run(fmt.Sprintf("%02d_%s", i, c.key), func(t *testing.T) {
			c.config.Lines = map[string]int{c.key: 17}
			_, err := mustNew(t, c.config).Apply(t.Context(), []byte(c.record))
			must.That(t, err != nil, "it passes")
			checkError(t, err, len(c.record))
			e := asError(t, err)
			expect.That(t, e.RuleLine == 17, "%s has the line %d", e.Rule, e.RuleLine)
			expect.That(t, e.Path != "" || e.Code == classify.CodeExpressionFailed || e.Code == classify.CodeRecordTooLarge, "no place: %+v", e)
			expect.That(t, e.Value != "" || valueless(e), "no value: %+v", e)
		})
	}
}

// valueless reports whether an error has no value, because something is missing or too large to show.
func valueless(e *Error) bool {
	switch e.Code {
	case classify.CodeMissingRequired, classify.CodeRecordTooLarge, classify.CodeExpressionFailed, classify.CodeGeometryEmpty, classify.CodeAntimeridian:
		return true
	case classify.CodeGeometryDimension:
		return e.Message == "a position has no height"
	default:
		return e.Rule == string(RuleCollapsed)
	}
}

// Errors of Validate have the line of the field too.
func TestErrors_S0_8_teach_after_enrichment(t *testing.T) {
	tr := mustNew(t, Config{Fields: []Field{{To: "z", Required: true, OnError: OnErrorDefault, Default: 1}}, Lines: map[string]int{"fields[0]": 9}})
	e := asError(t, tr.Validate(&Feature{}))
	expect.That(t, e.RuleLine == 9 && e.Path == "/properties/z" && e.Fix != "", "%+v", e)
}

const schemaFile = "../../schemas/feature-event.v1.json"

// compileSchema compiles the published schema and checks it against its meta-schema.
func compileSchema(t *testing.T) (*jsonschema.Schema, map[string]any) {
	t.Helper()
	text := must.Get(os.ReadFile(schemaFile))(t)
	document := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	compiler := jsonschema.NewCompiler()
	must.Do(t, compiler.AddResource("feature-event.json", document))
	schema := must.Get(compiler.Compile("feature-event.json"))(t)
	return schema, document.(map[string]any)
}

func parseJSON(t *testing.T, text []byte) any {
	t.Helper()
	return must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
}

// Decode and Gate accept every record that the schema accepts, and refuse the records that it refuses. The schema is
// stricter in two places: it requires an id, and allows no crs.
func TestSchema(t *testing.T) {
	schema, document := compileSchema(t)
	tr := mustNew(t, Config{Geometry: GeometryRules{EmptyGeometry: Accept, Validity: ValidityFlag}})
	for _, example := range document["examples"].([]any) {
		expect.Do(t, schema.Validate(example), "C-7: the schema's own example")
		text := must.Get(json.Marshal(example))(t)
		_, err := tr.Apply(t.Context(), text)
		expect.That(t, err == nil, "C-7: the schema's own example: %v", err)
	}
	for _, name := range glob(t, "testdata/accepted/*.json") {
		record := readFile(t, name)
		expect.Do(t, schema.Validate(parseJSON(t, record)), "C-7", name)
		f := must.Get(tr.Apply(t.Context(), record))(t)
		expect.Do(t, schema.Validate(parseJSON(t, []byte(mustEncode(t, tr, f)))), "C-7: the output for", name)
	}
	expect.That(t, schema.Validate(parseJSON(t, []byte(`{"type":"Feature","id":null,"geometry":null,"properties":null}`))) != nil, "C-7: the schema accepts an id that is null")
	for _, record := range []string{
		`{"type":"feature","geometry":null,"properties":null}`,
		`{"type":"Feature","properties":null}`,
		`{"type":"Feature","geometry":null}`,
		`{"type":"Feature","geometry":null,"properties":[]}`,
		`{"type":"Feature","geometry":null,"properties":null,"features":[]}`,
		`{"type":"Feature","geometry":null,"properties":null,"bbox":[1,2,3]}`,
		`{"type":"Feature","geometry":null,"properties":null,"crs":{"type":"name","properties":{"name":"EPSG:3857"}}}`,
		feature(`{}`), feature(`[]`), feature(`{"type":"Point"}`), feature(`{"type":"Circle","coordinates":[1,2]}`),
		feature(`{"type":"Point","coordinates":[1]}`), feature(`{"type":"Point","coordinates":[1,2,3,4]}`),
		feature(`{"type":"Point","coordinates":[1,null]}`), feature(`{"type":"Point","coordinates":["1",2]}`), feature(`{"type":"Point","coordinates":[389213.5,5819123]}`),
		feature(`{"type":"Point","coordinates":[1,91]}`), feature(`{"type":"Point","coordinates":[[1,2]]}`), feature(`{"type":"LineString","coordinates":[[1,2]]}`),
		feature(`{"type":"Polygon","coordinates":[[]]}`), feature(`{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,0]]]}`),
		feature(`{"type":"GeometryCollection"}`), feature(`{"type":"GeometryCollection","geometries":[null]}`), feature(`{"type":"Point","coordinates":[1,2],"geometries":[]}`),
		feature(`{"type":"Point","coordinates":[1,2],"properties":{}}`),
	} {
		withID := strings.Replace(record, `{"type":"Feature",`, `{"type":"Feature","id":1,`, 1)
		err := schema.Validate(parseJSON(t, []byte(withID)))
		expect.That(t, err != nil, "C-7: the schema accepts %s", record)
		_, err = tr.Apply(t.Context(), []byte(record))
		expect.That(t, err != nil, "C-7: the transform accepts %s", record)
	}
}
