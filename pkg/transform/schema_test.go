package transform

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const schemaFile = "../../schemas/feature-event.v1.json"

// compileSchema compiles the published schema, checking it against its own
// meta-schema.
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

// TestSchema: what the schema accepts passes the transform, and what it refuses
// is refused. (It is stricter in two places: it wants an id, and no crs at all.)
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
	if err := schema.Validate(parseJSON(t, []byte(`{"type":"Feature","id":null,"geometry":null,"properties":null}`))); err == nil {
		t.Error("C-7: the schema accepts an id that is null")
	}
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
