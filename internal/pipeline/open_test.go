package pipeline_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// parcel is one feature as GeoJSON. The tests send its content in every format.
const parcel = `{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"name":"a","area":12.5}}`

// rowSchema is the schema of a table row with the same content.
const rowSchema = `{"type":"record","name":"Parcel","fields":[{"name":"no","type":"long"},{"name":"geom","type":"bytes"},
{"name":"name","type":"string"},{"name":"area","type":"double"}]}`

// form is a record in some format: the settings of the pipeline file, the headers, the value.
type form struct {
	source  string
	headers []string
	value   []byte
}

func headers(pairs ...string) []kgo.RecordHeader {
	var out []kgo.RecordHeader
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, kgo.RecordHeader{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return out
}

var event = []string{"ce_specversion", "1.0", "ce_id", "e-1", "ce_source", "/cadastre", "ce_type", "parcel.changed"}

// wkb returns the parcel's geometry with its SRID.
func wkb(t *testing.T) []byte {
	t.Helper()
	g := must.Get(geometry.Decode(geometry.EWKT, []byte("SRID=4326;POINT(8.5 47.25)"), geometry.Limits{}))(t)
	return must.Get(geometry.Append(nil, geometry.EWKB, g))(t)
}

// published returns the parcel as the published Avro event, behind a header.
func published(t *testing.T, header func(*avro.Schema) []byte) []byte {
	t.Helper()
	encoder := must.Get(envelope.NewEventEncoder())(t)
	tr := must.Get(transform.New(transform.Config{}))(t)
	f := must.Get(tr.Decode([]byte(parcel)))(t)
	return must.Get(encoder.Append(header(encoder.Schema()), f))(t)
}

// fakeRegistry has the schema of the published event as 1 and that of the row as 2.
func fakeRegistry(t *testing.T) *srfake.Registry {
	t.Helper()
	fake := srfake.New()
	t.Cleanup(fake.Close)
	encoder := must.Get(envelope.NewEventEncoder())(t)
	fake.SeedSchema("features-value", 1, 1, sr.Schema{Schema: encoder.Schema().Canonical(), Type: sr.TypeAvro})
	fake.SeedSchema("rows-value", 1, 2, sr.Schema{Schema: rowSchema, Type: sr.TypeAvro})
	return fake
}

func row(t *testing.T, header func(*avro.Schema) []byte) []byte {
	t.Helper()
	schema := must.Get(avro.Parse(rowSchema))(t)
	return must.Get(schema.Encode(header(schema), map[string]any{"no": int64(7), "geom": wkb(t), "name": "a", "area": 12.5}))(t)
}

func singleObject(s *avro.Schema) []byte { return envelope.AppendSingleObject(nil, s) }

func confluent(id int) func(*avro.Schema) []byte {
	return func(*avro.Schema) []byte { return envelope.AppendConfluent(nil, id) }
}

func with(more ...string) []string { return append(append([]string{}, event...), more...) }

// forms returns the parcel in every format.
func forms(t *testing.T) map[string]form {
	t.Helper()
	registry := fmt.Sprintf("\nschema_registry: { url: %q }", fakeRegistry(t).URL())
	file := filepath.Join(t.TempDir(), "parcel.avsc")
	must.Do(t, os.WriteFile(file, []byte(rowSchema), 0o600))
	const columns = "row: { id: no, geometry: geom, geometry_format: ewkb }"
	dbz := fmt.Sprintf(`{"no":7,"geom":{"srid":4326,"wkb":%q},"name":"a","area":12.5}`, base64.StdEncoding.EncodeToString(wkb(t)))
	structured := `{"specversion":"1.0","id":"e-1","source":"/cadastre","type":"parcel.changed","datacontenttype":"application/geo+json","data":` + parcel + `}`
	fg := strings.Replace(parcel, `"geometry":{"type":"Point","coordinates":[8.5,47.25]}`,
		`"geometry":null,"place":{"type":"Point","coordinates":[47.25,8.5]},"coordRefSys":"http://www.opengis.net/def/crs/EPSG/0/4326"`, 1)
	return map[string]form{
		"geojson":                   {"{ format: geojson }", nil, []byte(parcel)},
		"geojson_written_otherwise": {"{ format: geojson }", nil, []byte(`{"properties":{"area":1.25e1,"name":"\u0061"},"id":7.0,"geometry":{"coordinates":[8.50,47.250],"type":"Point"}, "type":"Feature"}`)},
		"jsonfg":                    {"{ format: jsonfg }", nil, []byte(fg)},
		"cloudevents_binary":        {"{ format: cloudevents }", with("content-type", "application/geo+json"), []byte(parcel)},
		"cloudevents_structured":    {"{ format: cloudevents }", []string{"content-type", "application/cloudevents+json"}, []byte(structured)},
		"cloudevents_of_avro":       {"{ format: cloudevents }" + registry, with("content-type", "application/avro"), published(t, confluent(1))},
		"cloudevents_of_debezium":   {"{ format: cloudevents, cloudevents: { data: debezium }, row: { id: no, geometry: geom } }", event, []byte(`{"op":"u","after":` + dbz + `}`)},
		"avro_confluent":            {"{ format: avro }" + registry, nil, published(t, confluent(1))},
		"avro_single_object":        {"{ format: avro }", nil, published(t, singleObject)},
		"avro_row_confluent":        {"{ format: avro, " + columns + " }" + registry, nil, row(t, confluent(2))},
		"avro_row_of_a_local_file":  {"{ format: avro, avro: { schemas: [" + file + "] }, " + columns + " }", nil, row(t, singleObject)},
		"debezium":                  {"{ format: debezium, row: { id: no, geometry: geom } }", nil, []byte(`{"op":"c","before":null,"after":` + dbz + `}`)},
		"debezium_unwrapped":        {"{ format: debezium, debezium: { unwrapped: true }, row: { id: no, geometry: geom } }", nil, []byte(strings.Replace(dbz, "{", `{"__op":"r",`, 1))},
		"auto_without_headers":      {"{ format: auto }", nil, []byte(parcel)},
		"auto_content_type":         {"{ format: auto }", []string{"Content-Type", "application/vnd.ogc.fg+json"}, []byte(fg)},
		"auto_event":                {"{ format: auto }", event, []byte(parcel)},
		"auto_mark":                 {"{ format: auto }" + registry, nil, published(t, confluent(1))},
	}
}

// C-1: a feature is the same in every format: it has the same content hash, so that a repetition in another format is a
// duplicate, and the same output. Its content type is that of the output.
func TestHandle_C1_oneFeatureInEveryFormat(t *testing.T) {
	const mapping = "\ntransform: { fields: [{ from: name, to: label, type: string, required: true }] }\n"
	var first retrytopics.Result
	all := forms(t)
	handle := func(name string) retrytopics.Result {
		f := all[name]
		result, err := build(t, "source: "+f.source+mapping).Handle(t.Context(), &retrytopics.Record{Key: []byte("k"), Value: f.value, Headers: headers(f.headers...), Attempt: 1})
		must.That(t, err == nil, "%s: %v", name, err)
		return result
	}
	first = handle("geojson")
	for name := range all {
		result := handle(name)
		expect.That(t, result.ContentHash == first.ContentHash, "%v: content hash %s, of GeoJSON %s", name, result.ContentHash, first.ContentHash)
		out := result.Outputs[0]
		if name != "geojson_written_otherwise" && string(out.Value) != string(first.Outputs[0].Value) { // numbers keep their digits
			t.Errorf("%v: output %s, of GeoJSON %s", name, out.Value, first.Outputs[0].Value)
		}
		for _, h := range out.Headers {
			expect.That(t, !strings.EqualFold(h.Key, "content-type") || string(h.Value) == "application/geo+json", "%v: the output is called %s", name, h.Value)
		}
		expect.That(t, len(out.Headers) == len(all[name].headers)/2, "%v: headers %v of %v", name, out.Headers, all[name].headers)
	}
}

// A delete in any format is a tombstone in the output, and a delete for the engine, although the source record's value
// is not null.
func TestHandle_deletesOfEveryFormatBecomeTombstones(t *testing.T) {
	tombstone := must.Get(build(t, "").Handle(t.Context(), &retrytopics.Record{Key: []byte("k")}))(t)
	for name, f := range map[string]form{
		"debezium":            {"{ format: debezium }", nil, []byte(`{"op":"d","before":{"id":7},"after":null}`)},
		"debezium_unwrapped":  {"{ format: debezium, debezium: { unwrapped: true } }", nil, []byte(`{"id":7,"__deleted":"true"}`)},
		"debezium_tombstone":  {"{ format: debezium }", nil, nil},
		"cloudevents_binary":  {"{ format: cloudevents }", with("ce_subject", "7"), nil},
		"avro_null":           {"{ format: avro }", nil, nil},
		"with_a_version_also": {"{ format: debezium, version: properties.updated }", nil, []byte(`{"op":"d","before":{"id":7}}`)},
	} {
		result := must.Get(build(t, "source: "+f.source+"\n").Handle(t.Context(), &retrytopics.Record{Key: []byte("k"), Value: f.value, Headers: headers(f.headers...)}))(t)
		expect.That(t, result.Delete && len(result.Outputs) == 1 && result.Outputs[0].Value == nil && string(result.Outputs[0].Key) == "k", "%v: got %+v", name, result)
		expect.That(t, result.ContentHash == tombstone.ContentHash, "%v: the same delete in another format has another content hash: it would not be a duplicate", name)
	}
}

// S0-6: a column that the database did not send fails the row if the pipeline reads the column, and not if the pipeline
// drops it.
func TestHandle_S0_6_columnsThatWereNotSent(t *testing.T) {
	const source = "source: { format: debezium, row: { id: no, geometry: geom }%s }\n"
	event := []byte(`{"op":"u","before":null,"after":{"no":1,"geom":null,"note":"__debezium_unavailable_value","area":11}}`)
	plain := fmt.Sprintf(source, "")
	for name, c := range map[string]struct {
		rest   string
		passes bool
	}{
		"dropped":    {plain + "transform: { unmapped: drop, fields: [{ to: area }] }\n", true},
		"kept":       {plain + "transform: { unmapped: keep }\n", false},
		"a field":    {plain + "transform: { unmapped: drop, fields: [{ to: area }, { to: text, from: note }] }\n", false},
		"the filter": {plain + "transform: { unmapped: drop, filter: 'len(properties) > 1' }\n", false},
		"version":    {fmt.Sprintf(source, ", version: properties.note") + "transform: { unmapped: drop }\n", false},
		"a mark":     {plain + "transform: { unmapped: drop }\ngovernance: { care: { field: properties.note.care } }\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := build(t, c.rest).Handle(t.Context(), &retrytopics.Record{Key: []byte("k"), Value: event})
			switch {
			case c.passes && (err != nil || string(result.Outputs[0].Value) != `{"type":"Feature","id":1,"geometry":null,"properties":{"area":11}}`):
				t.Errorf("%+v, %v", result, err)
			case !c.passes && classify.Of(err).Code != classify.CodeValueUnavailable:
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}

// The dry run agrees with the pipeline, in every format.
func TestTry_C4_agreesWithHandle(t *testing.T) {
	const strict = "\ntransform: { fields: [{ from: missing, to: x, required: true }] }\n"
	for name, f := range forms(t) {
		for _, rest := range []string{"\n", strict} {
			file := "source: " + f.source + rest
			p := build(t, file)
			_, handled := p.Handle(t.Context(), &retrytopics.Record{Key: []byte("k"), Value: f.value, Headers: headers(f.headers...)})
			_, tried := p.Try(t.Context(), &retrytopics.Record{Key: []byte("k"), Value: f.value, Headers: headers(f.headers...)})
			expect.That(t, (handled == nil) == (tried == nil) && (handled == nil || handled.Error() == tried.Error()) && (rest == strict) == (tried != nil), "%s: handled %v, tried %v", name, handled, tried)
		}
	}
}

// An invalid schema file fails the start, and all of them are named.
func TestNewMapping_schemaFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "broken.avsc")
	must.Do(t, os.WriteFile(file, []byte(`{"type":"table"}`), 0o600))
	cfg, err := config.Parse("test.yaml", []byte(head+"source: { format: avro, avro: { schemas: [nowhere.avsc, "+file+"] } }\n"), nil)
	must.Do(t, err)
	_, err = pipeline.NewMapping(cfg)
	expect.That(t, err != nil && strings.Contains(err.Error(), "source.avro.schemas: nowhere.avsc: ") && strings.Contains(err.Error(), "broken.avsc: ") && errors.Is(err, os.ErrNotExist), "got %v", err)
}
