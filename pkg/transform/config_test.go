package transform

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// TestConfigFaults: one faulty config per rule, each with its YAML path.
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
				expect.That(t, fault.Message != "" && fault.Fix != "" && strings.Contains(err.Error(), fault.String()), "%+v does not say what to do", fault)
			}
			expect.That(t, reflect.DeepEqual(paths, c.paths), "got %q, want %q", paths, c.paths)
		})
	}
}

// TestConfigYAML: `on_error: null` is the null value in YAML and must not become "absent".
func TestConfigYAML(t *testing.T) {
	for text, want := range map[string]OnError{`on_error: null`: OnErrorNull, `on_error: "null"`: OnErrorNull, `on_error: default`: OnErrorDefault, `to: a`: ""} {
		var got Field
		err := yaml.Unmarshal([]byte(text), &got)
		expect.That(t, err == nil && got.OnError == want, "%s gives %q, %v", text, got.OnError, err)
	}
	if err := yaml.Unmarshal([]byte("to: {}"), new(Field)); err == nil {
		t.Error("a field whose name is an object is accepted")
	}
}
