package integration

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/transform"
	"github.com/switchback-geo/switchback/schemas"
)

// IDs of the schemas that the producers of the tests use.
const (
	knownSchema = 7
	lostSchema  = 8 // missing in the registry until the test adds it
)

// registryServer is a schema registry that the consumer reaches over HTTP. It fails the first requests for a schema, as
// a restarting registry does.
func registryServer(t *testing.T, outage int) *srfake.Registry {
	t.Helper()
	fake := srfake.New()
	t.Cleanup(fake.Close)
	fake.SeedSchema("producer-value", 1, knownSchema, eventSchema(t))
	var requests atomic.Int64
	fake.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/schemas/ids/") || requests.Add(1) > int64(outage) {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	return fake
}

func eventSchema(t *testing.T) sr.Schema {
	t.Helper()
	text := must.Get(schemas.Read(schemas.FeatureEventAvro))(t)
	return sr.Schema{Schema: string(text), Type: sr.TypeAvro}
}

// codec reads and writes the published event.
type codec struct {
	decoder *transform.Transformer
	encoder *envelope.EventEncoder
}

func newCodec(t *testing.T) codec {
	t.Helper()
	decoder := must.Get(transform.New(transform.Config{}))(t)
	encoder := must.Get(envelope.NewEventEncoder())(t)
	return codec{decoder, encoder}
}

// avro encodes a feature with a schema of the registry.
func (c codec) avro(t *testing.T, id string, schema int) []byte {
	t.Helper()
	f := must.Get(c.decoder.Decode([]byte(feature(id))))(t)
	return must.Get(c.encoder.Append(envelope.AppendConfluent(nil, schema), f))(t)
}

// geojson decodes an output.
func (c codec) geojson(t *testing.T, r *kgo.Record) string {
	t.Helper()
	must.That(t, len(r.Value) >= 5 && r.Value[0] == 0, "output %s is not framed: %x", r.Key, r.Value[:min(len(r.Value), 8)])
	single := append(envelope.AppendSingleObject(nil, c.encoder.Schema()), r.Value[5:]...)
	opener := must.Get(envelope.New(c.decoder, envelope.Options{Format: envelope.Avro}))(t)
	content := must.Get(opener.Open(t.Context(), nil, single))(t)
	text := must.Get(c.decoder.Encode(content.Feature))(t)
	return string(text)
}

// cloudEvent returns the headers of an event in binary mode, without the omitted one.
func cloudEvent(id string, left ...string) []kgo.RecordHeader {
	var out []kgo.RecordHeader
	for _, h := range [][2]string{{"ce_specversion", "1.0"}, {"ce_id", "e-" + id}, {"ce_source", "/cadastre"}, {"ce_type", "parcel.changed"}, {"content-type", "application/geo+json"}} {
		if len(left) == 0 || h[0] != left[0] {
			out = append(out, kgo.RecordHeader{Key: h[0], Value: []byte(h[1])})
		}
	}
	return out
}

// C-1, C-7, C-4: a pipeline reads both CloudEvents and Avro, and writes Avro. A registry that does not answer causes
// a retry and loses no record. A record with an unknown schema, or an event without its attributes, becomes a dead
// letter with its original bytes. Once the schema exists, the replayer's dry run passes and the replay is delivered.
func TestFormats_C1_C7(t *testing.T) {
	parallel(t, testrun.Proof)
	const n, bad = 40, 5
	registry, codec := registryServer(t, 2), newCodec(t)
	p := newPipe(t, 2*time.Minute, func(s *settings) {
		s.Source = "format: auto"
		s.More = fmt.Sprintf("output: { format: avro }\nschema_registry: { url: %q, timeout: 2s }\n", registry.URL())
	}).ensure()
	var sent []*kgo.Record
	send := func(prefix string, count int, value func(id string) []byte, headers func(id string) []kgo.RecordHeader) {
		for _, id := range ids(prefix, count) {
			sent = append(sent, &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: value(id), Headers: headers(id)})
		}
	}
	plain := func(id string) []byte { return []byte(feature(id)) }
	none := func(string) []kgo.RecordHeader { return nil }
	send("event", n, plain, func(id string) []kgo.RecordHeader { return cloudEvent(id) })
	send("avro", n, func(id string) []byte { return codec.avro(t, id, knownSchema) }, none)
	send("geojson", n, plain, none)
	send("nameless", bad, plain, func(id string) []kgo.RecordHeader { return cloudEvent(id, "ce_type") })
	send("lost", bad, func(id string) []byte { return codec.avro(t, id, lostSchema) }, none)
	p.sendRecords(sent...)

	s := p.drain().wantBalanced(t)
	wantTotals(t, p.verify(), 3*n+2*bad, conservation.Place{Output: 3 * n, DeadLetters: 2 * bad})
	expect.That(t, s.number(t, "retried") != 0, "the registry's outage cost no retry")
	codes := map[string]int{}
	for _, deadLetter := range p.read(p.topics.DLQ) {
		code, _ := topiclog.Header(deadLetter, "switchback-error-code")
		codes[code]++
	}
	expect.That(t, codes["envelope_malformed"] == bad && codes["schema_unknown"] == bad && len(codes) == 2, "codes of the dead letters: %v", codes)
	checkAvroOutputs(t, p, codec, registry)

	t.Run("the_replayer_opens_what_the_consumer_opens", func(t *testing.T) {
		registry.SeedSchema("producer-value", 2, lostSchema, eventSchema(t))
		code, out := p.replay("--code", "schema_unknown")
		expect.That(t, code == exitRefused && strings.Contains(out, fmt.Sprint(bad)) && !strings.Contains(out, "fails:"), "the dry run: exit code %d\n%s", code, out)
		p.mustReplay("--code", "schema_unknown", "--execute")
		p.drain()
		wantTotals(t, p.verify(), 3*n+2*bad, conservation.Place{Output: 3*n + bad, DeadLetters: 2 * bad, Replays: bad})
	})
}

// checkAvroOutputs compares each output with the output of a GeoJSON pipeline.
func checkAvroOutputs(t *testing.T, p *pipe, codec codec, registry *srfake.Registry) {
	t.Helper()
	registered, found := registry.GetSchema(p.topics.Output+"-value", 1)
	must.That(t, found, "the schema of the outputs is not registered")
	for _, r := range p.read(p.topics.Output) {
		id := string(r.Key)
		want := fmt.Sprintf(`{"type":"Feature","id":%q,"geometry":{"type":"Point","coordinates":[11.5,48.1]},"properties":{"id":%q,"level":3,"place_name":%q}}`, id, id, misbehave.PlaceName(id))
		expect.Equal(t, codec.geojson(t, r), want, "output", id)
		header := envelope.AppendConfluent(nil, registered.ID)
		expect.That(t, string(r.Value[:5]) == string(header), "output %s begins with %x, want %x", id, r.Value[:5], header)
		value, n := topiclog.Header(r, "content-type")
		expect.That(t, n == 1 && value == "application/avro", "output %s has %d content types, %q", id, n, value)
		_, n = topiclog.Header(r, "ce_id")
		expect.That(t, n == map[bool]int{true: 1}[strings.HasPrefix(id, "event")], "output %s has %d headers ce_id", id, n)
	}
}

// splitFeatures splits collections into features that are processed independently.
func splitFeatures(order string) func(*settings) {
	return func(s *settings) { s.Source, s.Ordering = "split: features", order }
}

// featuresPerCollection is the number of features of each collection.
const featuresPerCollection = 9

// mixedCollections returns n collections. In each of them, the service refuses feature 1, feature 4 fails transiently
// once and feature 6 twice, and the mapping refuses a value of feature 7.
func (p *pipe) mixedCollections(n int) (sent []*kgo.Record) {
	p.t.Helper()
	for _, name := range ids("c", n) {
		var features []string
		for _, id := range ids(name, featuresPerCollection) {
			features = append(features, feature(id))
		}
		features[7] = strings.Replace(features[7], `"level": 3`, `"level": "high"`, 1)
		p.places.Script(name+"-1", misbehave.Times(1000, misbehave.Status(404))...)
		p.places.Script(name+"-4", misbehave.Status(503))
		p.places.Script(name+"-6", misbehave.Times(2, misbehave.Status(503))...)
		sent = append(sent, &kgo.Record{Topic: p.topics.Source, Key: []byte(name), Value: []byte(
			`{"type":"FeatureCollection",  "features":[` + strings.Join(features, " , ") + `]}`,
		)})
	}
	return sent
}

// wantFeatures checks that the output has each feature of n collections once, except the missing ones, with the header
// of its part.
func (p *pipe) wantFeatures(n int, left ...int) {
	p.t.Helper()
	seen := map[string]int{}
	for _, r := range p.read(p.topics.Output) {
		seen[string(r.Key)]++
		name := string(r.Key)
		part, _ := topiclog.Header(r, "switchback-part")
		expect.Equal(p.t, fmt.Sprintf("%s/%d", name[strings.LastIndexByte(name, '-')+1:], featuresPerCollection), part, "part of output", name)
	}
	want := map[string]int{}
	for _, name := range ids("c", n) {
		for i, id := range ids(name, featuresPerCollection) {
			if !slices.Contains(left, i) {
				want[id] = 1
			}
		}
	}
	expect.That(p.t, maps.Equal(seen, want), "%d features in the output, want %d, each once: %v", len(seen), len(want), seen)
}

// acceptRefused lets the service accept the features that it refused.
func (p *pipe) acceptRefused(n int) {
	for _, name := range ids("c", n) {
		p.places.Script(name + "-1")
	}
}

// C-1, C-2, C-3, C-4, S4-8: in every ordering mode, each feature of a collection is delivered, retried and dead-lettered
// independently. Each dead letter is replayed independently, and every feature is in the output exactly once.
func TestPerFeature_C1_C2_C3_C4(t *testing.T) {
	testrun.Fast(t)
	for _, order := range []string{"none", "latest_wins", "strict", "strict, on_dead_letter: hold_key"} {
		t.Run(order, func(t *testing.T) {
			if order == "latest_wins" || order == "strict" {
				testrun.Nightly(t)
			}
			t.Parallel()
			const n = 6
			p := newPipe(t, time.Minute, splitFeatures(order)).ensure()
			p.sendRecords(p.mixedCollections(n)...)
			s := p.drain().wantBalanced(t)
			expect.That(t, s.number(t, "delivered") == n && s.number(t, "parts_dead_lettered") == 2*n, "summary %v", s)
			wantTotals(t, p.verify(), 3*n, conservation.Place{Output: n, DeadLetters: 2 * n})
			p.wantFeatures(n, 1, 7)
			for _, name := range ids("c", n) {
				for i, want := range map[int]int{0: 1, 1: 1, 4: 2, 6: 3, 7: 0} {
					expect.Equal(t, len(p.places.Arrivals(fmt.Sprintf("%s-%d", name, i))), want, "requests for feature", i, "of", name)
				}
			}
			p.replayFeatures(t, n)
		})
	}
}

// replayFeatures replays the dead letters of n collections. The service's refusals succeed; the unmappable features fail
// again.
func (p *pipe) replayFeatures(t *testing.T, n int) {
	t.Helper()
	codes := map[string]string{}
	for _, l := range p.read(p.topics.DLQ) {
		part, _ := topiclog.Header(l, "switchback-part")
		codes[part], _ = topiclog.Header(l, "switchback-error-code")
	}
	must.That(t, len(codes) == 2, "dead letters of the parts %v", codes)
	p.acceptRefused(n)
	p.mustReplay("--execute", "--including-failing", "--code", codes["1/9"])
	p.drain()
	wantTotals(t, p.verify(), 3*n, conservation.Place{Output: 2 * n, DeadLetters: 2 * n, Replays: n})
	p.wantFeatures(n, 7)
	p.wantStates(n, "reprocessed")
	p.mustReplay("--execute", "--including-failing", "--code", codes["7/9"]) // fails again, independently
	p.drain()
	wantTotals(t, p.verify(), 3*n, conservation.Place{Output: 2 * n, DeadLetters: 3 * n, Replays: 2 * n})
	p.wantFeatures(n, 7)
}
