package pipeline_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
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

// Bad input of every kind becomes a failure of its own code; nothing of it is retried.
func TestHandle_S0_5_badInput(t *testing.T) {
	p := build(t, "source: { max_record_bytes: 4096 }\n")
	point := `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}`
	for _, c := range []struct {
		name string
		r    *retrytopics.Record
		code classify.Code
	}{
		{"not JSON", record("parcel 17"), classify.CodeNotJSON},
		{"truncated JSON", record(point), classify.CodeTruncatedJSON},
		{"wrong type", record(`{"type":"Feature","geometry":{"type":"Point","coordinates":"here"},"properties":{}}`), classify.CodeWrongType},
		{"too large", record(`"` + strings.Repeat("x", 5000) + `"`), classify.CodeRecordTooLarge},
		{"empty value", record(""), classify.CodeEmptyValue},
		{"null key", &retrytopics.Record{Value: []byte(point + "}")}, classify.CodeNullKey},
		{"null key of a tombstone", &retrytopics.Record{}, classify.CodeNullKey},
		{"unknown CRS", record(point + `,"crs":{"type":"name","properties":{"name":"EPSG:99999"}}}`), classify.CodeUnknownCRS},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, err := p.Handle(t.Context(), c.r)
			must.That(t, err != nil, "no error")
			f := classify.Of(err)
			expect.That(t, f.Code == c.code && !f.Transient() && len(result.Outputs) == 0, "failure %+v, want code %s", f, c.code)
			expect.That(t, result.ContentHash != "", "no content hash: the dead letter could not be deduped")
		})
	}
}

// A reference set in a topic is read before the first record is judged, and a broker that does not answer is no fault of
// the record.
func TestHandle_S0_8_referencesFromATopic(t *testing.T) {
	broker := fakekafka.Start(t, kfake.SeedTopics(2, "zones"))
	client := fakekafka.Client(t, broker)
	mapping := `
transform:
  references: [{ name: zones, topic: zones }]
  fields: [{ to: zone, references: { set: zones, mandatory: true } }]
kafka: { brokers: ["` + broker.ListenAddrs()[0] + `"] }
`
	feature := func(zone string) string {
		return `{"type":"Feature","id":1,"geometry":null,"properties":{"zone":"` + zone + `"}}`
	}
	p := build(t, mapping)
	if _, err := p.Handle(t.Context(), record(feature("W2"))); err == nil || !strings.Contains(err.Error(), "cleanup.policy=delete") {
		t.Fatalf("a topic that is not compacted: %v", err)
	}
	compact := "compact"
	must.Get(kadm.NewClient(client).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "cleanup.policy", Value: &compact}}, "zones"))(t)
	must.Do(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: "zones", Key: []byte("W2"), Value: []byte("x")}).FirstErr())
	if _, err := p.Handle(t.Context(), record(feature("W2"))); err != nil {
		t.Errorf("a key of the set: %v", err)
	}
	_, err := p.Handle(t.Context(), record(feature("W9")))
	e, ok := errors.AsType[*transform.Error](err)
	expect.That(t, ok && e.Code == classify.CodeForeignKeyUnresolved, "no key of the set: %v", err)
	broker.Close()
	if _, err = build(t, mapping).Handle(t.Context(), record(feature("W2"))); !classify.Of(err).Transient() {
		t.Errorf("without a broker: %v, %+v", err, classify.Of(err))
	}
}

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

// What decides what becomes of a record changes the fingerprint, and nothing else does.
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
		t.Run(c.name, func(t *testing.T) {
			changed := strings.Replace(text, c.from, c.to, 1)
			must.That(t, changed != text, "nothing is changed")
			got := fingerprint(t, changed)
			expect.That(t, (got == want) == c.same, "same is %v, want %v", got == want, c.same)
		})
	}
}
