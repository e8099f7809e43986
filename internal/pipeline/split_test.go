package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// part is a feature of a collection.
func part(id, name string) string {
	return fmt.Sprintf(`{"type":"Feature","id":%s,"geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"NAME":%q,"updated":%d}}`, id, name, len(name))
}

func collection(parts ...string) string {
	return `{"type":"FeatureCollection","features":[` + strings.Join(parts, ",") + `]}`
}

func headerOf(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// Each feature of a collection has an output of its own: its id is the key, and headers say which part of the record it is.
// What it says is what it would say alone.
func TestSplit_C1_oneOutputForEachFeature(t *testing.T) {
	p := build(t, "source: { split: features, version: properties.updated }\n")
	r := record(collection(part(`"a"`, "x"), part("2", "long"), part(`"c"`, "yy")))
	r.Headers = headers("content-type", "application/geo+json", "traceparent", "00-1")
	result := must.Get(p.Handle(t.Context(), r))(t)
	must.That(t, result.FeatureID == "" && result.Version != nil && *result.Version == 4 && len(result.Outputs) == 3, "got %+v", result)
	for i, want := range []struct{ id, value string }{{"a", part(`"a"`, "x")}, {"2", part("2", "long")}, {"c", part(`"c"`, "yy")}} {
		out := result.Outputs[i]
		alone := must.Get(p.Handle(t.Context(), record(want.value)))(t)
		expect.That(t, string(out.Key) == want.id && string(out.Value) == string(alone.Outputs[0].Value) && out.Topic == "parcels.out", "output %d: %s: %s", i, out.Key, out.Value)
		if headerOf(out, header.KeyPart) != fmt.Sprintf("%d/3", i) || headerOf(out, header.KeyFeatureID) != want.id ||
			headerOf(out, header.KeyContentHash) != alone.ContentHash || headerOf(out, "traceparent") != "00-1" {
			t.Errorf("output %d has the headers %v", i, out.Headers)
		}
	}
}

// The record is what is remembered: its hash is that of all features in their order, whatever else its text has.
func TestSplit_S0_6_contentHashOfACollection(t *testing.T) {
	p := build(t, "source: { split: features }\n")
	hash := func(value string) string {
		result := must.Get(p.Handle(t.Context(), record(value)))(t)
		return result.ContentHash
	}
	a, b := part(`"a"`, "x"), part(`"b"`, "y")
	expect.That(t, hash(collection(a, b)) == hash(`{"features":[`+a+" , "+b+`],"title":"t","type":"FeatureCollection"}`), "white space and the members of the collection count")
	expect.That(t, hash(collection(a, b)) != hash(collection(b, a)) && hash(collection(a, b)) != hash(collection(a)), "another collection has the same hash")
	expect.That(t, hash(collection(a)) == hash(a), "a collection of one feature is not a repetition of the feature")
}

// One feature that fails fails the record, so that the dead letter has its bytes and can be put back; the error says which.
func TestSplit_S1_5_aFailureNamesItsFeature(t *testing.T) {
	const rules = "source: { split: features, collections: all_or_nothing, max_features: 3, version: properties.updated }\ntransform: { fields: [{ from: NAME, to: name, type: string, required: true }] }\n"
	good := part(`"a"`, "x")
	for name, c := range map[string]struct {
		value string
		code  classify.Code
		stage classify.Stage
		path  string
	}{
		"decode":       {collection(good, strings.Replace(part(`"b"`, "y"), "[8.5,47.25]", "[8.5]", 1)), "", classify.StageDecode, "/features/1/geometry/coordinates"},
		"gate":         {collection(good, strings.Replace(part(`"b"`, "y"), "47.25", "470.25", 1)), classify.CodeCoordinateRange, classify.StageGate, "/features/1/geometry/coordinates"},
		"transform":    {collection(good, strings.Replace(part(`"b"`, "y"), "NAME", "NOM", 1)), classify.CodeMissingRequired, classify.StageTransform, "/features/1/properties/NAME"},
		"version":      {collection(good, strings.Replace(part(`"b"`, "y"), "updated", "at", 1)), classify.CodeMissingRequired, classify.StageGate, "/features/1/properties"},
		"no id":        {collection(strings.Replace(good, `"id":"a",`, "", 1)), classify.CodeMissingRequired, classify.StageTransform, "/features/0/id"},
		"same id":      {collection(good, part(`"b"`, "y"), part(`"a"`, "z")), classify.CodeDuplicateKey, classify.StageTransform, "/features/2/id"},
		"too many":     {collection(good, good, good, good), classify.CodeLimitExceeded, classify.StageDecode, "/features"},
		"no features":  {`{"type":"FeatureCollection"}`, classify.CodeNotAFeature, classify.StageDecode, ""},
		"in an event?": {`{"specversion":"1.0","data":` + collection(good) + `}`, classify.CodeNotAFeature, classify.StageDecode, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := build(t, rules)
			result, err := p.Handle(t.Context(), record(c.value))
			var e *transform.Error
			must.That(t, errors.As(err, &e), "got %v", err)
			expect.That(t, (c.code == "" || e.Code == c.code) && e.Stage == c.stage && e.Path == c.path && strings.Contains(e.Error(), c.path),
				"got %s, %s, %q: %v", e.Code, e.Stage, e.Path, e)
			expect.That(t, len(result.Outputs) == 0 && result.ContentHash != "", "got %+v", result)
			_, tried := p.Try(t.Context(), record(c.value))
			expect.That(t, tried != nil && tried.Error() == err.Error(), "the dry run says %v, the pipeline %v", tried, err)
		})
	}
}

// A remote step that fails transiently retries the record, and says for which feature it failed.
func TestSplit_S1_9_aRemoteFailureIsThatOfTheRecord(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("id") == "b" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"name":"somewhere"}`))
	}))
	defer server.Close()
	p := build(t, "source: { split: features, collections: all_or_nothing }\nenrich: [{ name: place, http: { url: \""+server.URL+"/?id={id}\", allow_private: true }, set: { place: /name } }]\n")
	result, err := p.Handle(t.Context(), record(collection(part(`"a"`, "x"), part(`"b"`, "y"))))
	f := classify.Of(errOr(err))
	expect.That(t, f.Transient() && f.Stage == classify.StageEnrich && strings.Contains(err.Error(), "/features/1: "), "got %+v", f)
	expect.That(t, len(result.Outputs) == 0, "a part of the record got out")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Handle(ctx, record(collection(part(`"a"`, "x")))); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context gave %v", err)
	}
}

func errOr(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// What the mapping leaves out has no output; a collection of which nothing is left is closed.
func TestSplit_filter(t *testing.T) {
	p := build(t, "source: { split: features }\ntransform: { filter: 'properties.NAME == \"b\"' }\n")
	for value, want := range map[string]struct {
		outputs int
		closed  policy.Outcome
	}{
		collection(part("1", "a"), part("2", "b"), part("3", "a")): {1, ""},
		collection(part("1", "a")):                                 {0, policy.OutcomeFiltered},
		collection():                                               {0, policy.OutcomeSkipped},
	} {
		result, err := p.Handle(t.Context(), record(value))
		expect.That(t, err == nil && len(result.Outputs) == want.outputs && result.Close == want.closed && result.Note != "", "%s: %+v, %v", value, result, err)
		if want.outputs == 1 && headerOf(result.Outputs[0], header.KeyPart) != "1/3" {
			t.Errorf("the part is %s", headerOf(result.Outputs[0], header.KeyPart))
		}
		if _, err := p.Try(t.Context(), record(value)); err != nil {
			t.Errorf("%s: the dry run says %v", value, err)
		}
	}
}

// Collections come in every JSON format; in Avro too they go out.
func TestSplit_formats(t *testing.T) {
	fg := `{"type":"FeatureCollection","coordRefSys":"[EPSG:4326]","features":[{"type":"Feature","id":"a","geometry":null,"place":{"type":"Point","coordinates":[47.25,8.5]},"properties":{}}]}`
	plain := collection(`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{}}`)
	event := `{"specversion":"1.0","id":"e","source":"/s","type":"t","data":` + plain + `}`
	const want = `{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{}}`
	for name, f := range map[string]form{
		"geojson":     {"{ split: features }", nil, []byte(plain)},
		"jsonfg":      {"{ split: features, format: jsonfg }", nil, []byte(fg)},
		"cloudevents": {"{ split: features, format: cloudevents }", []string{"content-type", "application/cloudevents+json"}, []byte(event)},
		"auto":        {"{ split: features, format: auto }", []string{"content-type", "application/vnd.ogc.fg+json"}, []byte(fg)},
	} {
		result, err := build(t, "source: "+f.source+"\n").Handle(t.Context(), &retrytopics.Record{Key: []byte("k"), Value: f.value, Headers: headers(f.headers...)})
		expect.That(t, err == nil && len(result.Outputs) == 1 && string(result.Outputs[0].Value) == want, "%s: %+v, %v", name, result, err)
	}
	result, err := build(t, "source: { split: features }\n"+singleObjectOutput).Handle(t.Context(), record(plain))
	expect.That(t, err == nil && headerOf(result.Outputs[0], "content-type") == "application/avro" && headerOf(result.Outputs[0], header.KeyPart) == "0/1", "%+v, %v", result, err)
}
