package pipeline_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/switchback-geo/switchback/examples"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

const head = `pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 502, 503, 504] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
`

func build(t *testing.T, rest string) *pipeline.Pipeline {
	t.Helper()
	cfg := must.Get(config.Parse("test.yaml", []byte(head+rest), nil))(t)
	p := must.Get(pipeline.New(cfg, nil))(t)
	t.Cleanup(p.Close)
	return p
}

func record(value string) *retrytopics.Record {
	return &retrytopics.Record{Key: []byte("k"), Value: []byte(value), Attempt: 1}
}

const feature = `{"type":"Feature","id":"p-1","geometry":{"type":"Point","coordinates":[8.5,47.3]},"properties":{"NAME":"a","updated":%s}}`

const printed = `pipeline:
  id: parcels
  retry_policy: { max_attempts: 3, base_delay_seconds: 2, retryable_status_codes: [503, 429] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
transform:
  references: [{ name: zones, file: FILE, column: id }]
  fields: [{ to: zone, references: { set: zones } }, { from: a, to: b, type: string }]
enrich:
  - name: place
    http: { url: "https://places.example/{properties.b}", rate: { per_second: 10 } }
    set: { place_name: /name }
`

func fingerprint(t *testing.T, text string) string {
	t.Helper()
	cfg := must.Get(config.Parse("pipeline.yaml", []byte(text), func(string) string { return "" }))(t)
	m := must.Get(pipeline.NewMapping(cfg))(t)
	return must.Get(m.Fingerprint())(t)
}

// Everything that decides about a record changes the fingerprint, and nothing else does.
func TestFingerprint_S4_8(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(file, []byte(content), 0o600))
		return file
	}
	file := write("zones.csv", "id,name\nA,a\nB,b\n")
	text := strings.Replace(printed, "FILE", file, 1)
	want := fingerprint(t, text)
	must.That(t, strings.HasPrefix(want, "sha256:") && len(want) == 71, "%q", want)
	for _, c := range []struct {
		name, from, to string
		same           bool
	}{
		{"a comment", "transform:\n", "transform: # the target schema\n", true},
		{"the order of keys", "from: a, to: b, type: string", "type: string, to: b, from: a", true},
		{"a default that is written out", "enrich:\n", "source: { null_keys: reject }\nenrich:\n", true},
		{"another place of an equal file, in another order", file, write("other.csv", "name,id\nb,B\na,A\n"), true},
		{"a rate", "per_second: 10", "per_second: 20", true},
		{"the order of statuses", "[503, 429]", "[429, 503]", true},
		{"brokers", "enrich:\n", "kafka: { brokers: [\"other:9092\"] }\nenrich:\n", true},
		{"a field", "from: a,", "from: c,", false},
		{"a type", "type: string", "type: integer", false},
		{"a validation", "to: zone, references: { set: zones }", "to: zone, references: { set: zones, mandatory: true }", false},
		{"a key of a reference set", file, write("more.csv", "id\nA\nB\nC\n"), false},
		{"a status that is retried", "[503, 429]", "[503]", false},
		{"a service", "places.example", "other.example", false},
		{"null keys", "enrich:\n", "source: { null_keys: accept }\nenrich:\n", false},
	} {
		changed := strings.Replace(text, c.from, c.to, 1)
		must.That(t, changed != text, "%v: nothing is changed", c.name)
		got := fingerprint(t, changed)
		expect.That(t, (got == want) == c.same, "%v: same is %v, want %v", c.name, got == want, c.same)
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

const singleObjectOutput = "output: { format: avro, avro: { framing: single_object } }\n"

func handled(t *testing.T, p *pipeline.Pipeline, value []byte) *kgo.Record {
	t.Helper()
	result, err := p.Handle(t.Context(), &retrytopics.Record{Key: []byte("k"), Value: value})
	must.That(t, err == nil, "%.80s: %v", value, err)
	return result.Outputs[0]
}

// The bytes of an Avro output are part of the contract with its readers: a feature has exactly one encoding.
func TestHandle_C7_avroOutputGolden(t *testing.T) {
	p := build(t, singleObjectOutput)
	for name, feature := range map[string]string{
		"point":      parcel,
		"text_id":    `{"type":"Feature","id":"p/1","geometry":{"type":"Point","coordinates":[8.5,47.25,440.5]},"properties":{"name":"Zürich","none":null,"yes":true}}`,
		"polygon":    `{"type":"Feature","id":1,"bbox":[0,0,4,4],"geometry":{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,4],[0,0]],[[1,1],[1,2],[2,2],[2,1],[1,1]]]},"properties":{}}`,
		"collection": `{"type":"Feature","geometry":{"type":"GeometryCollection","geometries":[{"type":"MultiPoint","coordinates":[[1,2],[3,4]]},{"type":"LineString","coordinates":[[0,0],[1,1]]}]},"properties":null}`,
		"numbers":    `{"type":"Feature","id":9007199254740993,"geometry":null,"properties":{"long":9223372036854775807,"beyond":9223372036854775808,"decimal":12.50,"double":0.1,"list":[1,[],{"a":{"b":null}}]}}`,
		"foreign":    `{"type":"Feature","geometry":null,"properties":{"a":1},"title":"t","time":{"date":"2026-11-03"}}`,
	} {
		got := hex.EncodeToString(handled(t, p, []byte(feature)).Value) + "\n"
		file := filepath.Join("testdata", "avro", name+".hex")
		if *update {
			must.Do(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want := must.Get(os.ReadFile(file))(t)
		expect.That(t, got == string(want), "%v: got %s, want %s", name, got, want)
	}
}

// Avro and GeoJSON outputs have the same content: the decoded Avro output, written as GeoJSON, equals the GeoJSON output
// byte for byte. A pipeline that reads such an output computes the same content hash for both.
func TestHandle_C7_avroOutputHasTheContentOfGeoJSON(t *testing.T) {
	const lenient = "transform: { geometry: { validity: flag } }\n" // real data is not always valid
	asGeoJSON, asAvro := build(t, lenient), build(t, singleObjectOutput+lenient)
	reader := build(t, "source: { format: avro }\n"+lenient)
	n := 0
	compare := func(feature []byte) {
		n++
		want, record := handled(t, asGeoJSON, feature), handled(t, asAvro, feature)
		content := must.Get(reader.Open(t.Context(), nil, record.Value))(t)
		got, err := reader.GeoJSON(content.Feature)
		expect.That(t, err == nil && bytes.Equal(got, want.Value), "from Avro %s, %v\nas GeoJSON %s", got, err, want.Value)
	}
	for f, err := range examples.Earthquakes() {
		must.Do(t, err)
		compare(f.JSON)
	}
	for f, err := range examples.Counties() {
		must.Do(t, err)
		if _, err := asGeoJSON.Handle(t.Context(), record(string(f.JSON))); err == nil {
			compare(f.JSON)
		}
		if n > 2500 {
			break
		}
	}
	expect.That(t, n >= 2500, "only %d features were compared", n)
}

// The schema is registered under the subject, and its ID precedes each datum.
func TestHandle_C7_avroOutputIsRegistered(t *testing.T) {
	fake := srfake.New()
	t.Cleanup(fake.Close)
	file := fmt.Sprintf("output: { format: avro }\nschema_registry: { url: %q }\n", fake.URL())
	p := build(t, file)
	must.Do(t, p.Prepare(t.Context()))
	registered, found := fake.GetSchema("parcels.out-value", 1)
	must.That(t, found && strings.Contains(registered.Schema.Schema, `"FeatureEvent"`), "registered %+v", registered)
	value := handled(t, p, []byte(parcel)).Value
	want := envelope.AppendConfluent(nil, registered.ID)
	expect.That(t, bytes.HasPrefix(value, want), "begins with %x, want %x", value[:5], want)
	again := handled(t, build(t, strings.Replace(file, "output: {", "source: { format: avro }\noutput: {", 1)), value)
	expect.That(t, bytes.Equal(again.Value, value), "a pipeline that reads the output writes something else")
}

// A feature that fails is found by the ID that the mapping makes, where its source has none.
func TestHandle_aFailureHasTheIDThatTheMappingMakes(t *testing.T) {
	const fails = "transform: { id: %s, fields: [{ from: AREA, to: area, type: number }] }\n"
	const parcel = `{"type":"Feature",%s"geometry":null,"properties":{"NR":%s,"AREA":"12 m2"}}`
	for name, c := range map[string]struct{ rule, id, nr, want string }{
		"a property":               {"{ from: properties.NR }", "", `"G-1"`, "G-1"},
		"a number":                 {"{ from: properties.NR }", "", "7.0", "7"},
		"an expression":            {"{ expr: \"'x' + properties.NR\" }", "", `"G-1"`, "xG-1"},
		"the source's ID is first": {"{ from: properties.NR }", `"id":"s",`, `"G-1"`, "s"},
		"nothing to make it of":    {"{ from: properties.NR }", "", "null", ""},
	} {
		p := build(t, fmt.Sprintf(fails, c.rule))
		value := fmt.Sprintf(parcel, c.id, c.nr)
		result, err := p.Handle(t.Context(), record(value))
		must.That(t, err != nil, "%s: no error", name)
		expect.Equal(t, result.FeatureID, c.want, name)
		expect.Equal(t, p.Identify(t.Context(), []byte("k"), nil, []byte(value)).FeatureID, c.want, name+", as the replayer sees it")
	}
	p := build(t, "source: { split: features }\n"+fmt.Sprintf(fails, "{ from: properties.NR }"))
	result, err := p.Handle(t.Context(), record(`{"type":"FeatureCollection","features":[`+fmt.Sprintf(parcel, "", `"G-2"`)+`]}`))
	must.That(t, err == nil && len(result.Failed) == 1, "a collection: %+v, %v", result, err)
	expect.Equal(t, result.Failed[0].Identity.FeatureID, "G-2", "a feature of a collection")
}
