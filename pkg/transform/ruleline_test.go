package transform

import (
	"fmt"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// teaching are records that fail, one for each key of the mapping that refuses.
func teaching() []struct {
	key    string // where the rule stands in the mapping
	config Config
	record string
} {
	zero, five := 0, 5
	polygon := func(ring string) string {
		return feature(`{"type":"Polygon","coordinates":[` + ring + `]}`)
	}
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

// Every error says its code, its rule and the rule's line, the place in
// the record, the value where there is one, and what would make the record pass.
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

// valueless are the errors about something that is not there, or too large to
// show.
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

// Validate has the line of the field as well.
func TestErrors_S0_8_teach_after_enrichment(t *testing.T) {
	tr := mustNew(t, Config{Fields: []Field{{To: "z", Required: true, OnError: OnErrorDefault, Default: 1}}, Lines: map[string]int{"fields[0]": 9}})
	e := asError(t, tr.Validate(&Feature{}))
	expect.That(t, e.RuleLine == 9 && e.Path == "/properties/z" && e.Fix != "", "%+v", e)
}
