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
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/switchback-geo/switchback/examples"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const singleObjectOutput = "output: { format: avro, avro: { framing: single_object } }\n"

func handled(t *testing.T, p *pipeline.Pipeline, value []byte) *kgo.Record {
	t.Helper()
	result, err := p.Handle(t.Context(), &retrytopics.Record{Key: []byte("k"), Value: value})
	must.That(t, err == nil, "%.80s: %v", value, err)
	return result.Outputs[0]
}

// The bytes of an Avro output are part of the contract with its readers: one feature has one form.
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
		t.Run(name, func(t *testing.T) {
			got := hex.EncodeToString(handled(t, p, []byte(feature)).Value) + "\n"
			file := filepath.Join("testdata", "avro", name+".hex")
			if *update {
				must.Do(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want := must.Get(os.ReadFile(file))(t)
			expect.That(t, got == string(want), "got %s, want %s", got, want)
		})
	}
}

// The same content in either format: what is read from an Avro output is, byte for byte as GeoJSON, what would have been
// the GeoJSON output. And a pipeline that reads one pipeline's output sees the same content hash in either.
func TestHandle_C7_avroOutputHasTheContentOfGeoJSON(t *testing.T) {
	const lenient = "transform: { geometry: { validity: flag } }\n" // real data are not clean
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

// The schema is registered under the subject, and its id stands before each datum.
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

// A registry that does not answer is transient; one that refuses the schema is the pipeline's fault, and no record's.
func TestHandle_S4_3_avroOutputFailures(t *testing.T) {
	gone := srfake.New()
	url := gone.URL()
	gone.Close()
	other := srfake.New()
	t.Cleanup(other.Close)
	other.SeedSchema("parcels.out-value", 1, 1, sr.Schema{Schema: `"long"`, Type: sr.TypeAvro})
	for name, c := range map[string]struct {
		url, avro string
		code      classify.Code
		transient bool
	}{
		"no answer":      {url, "", classify.CodeRegistryUnavailable, true},
		"not registered": {other.URL(), "avro: { register: false }", classify.CodeSchemaMismatch, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := build(t, fmt.Sprintf("output: { format: avro, %s }\nschema_registry: { url: %q }\n", c.avro, c.url))
			result, err := p.Handle(t.Context(), record(parcel))
			for _, err := range []error{err, p.Prepare(t.Context())} {
				must.That(t, err != nil, "no error")
				f := classify.Of(err)
				expect.That(t, f.Code == c.code && f.Transient() == c.transient && f.Stage == classify.StageEncode, "got %s, %s, %s: %v", f.Code, f.Class, f.Stage, err)
			}
			expect.That(t, result.FeatureID == "7" && len(result.Outputs) == 0, "got %+v", result)
		})
	}
}
