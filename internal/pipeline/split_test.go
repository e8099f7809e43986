package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// part returns a feature of a collection.
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

// Each feature of a collection has its own output: its ID is the key, and headers identify the part of the record.
// Its content is the same as without the collection.
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

// The record has one content hash: that of all features in their order, regardless of the collection's other members.
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

// If one feature fails, the record fails, so that the dead letter has the record's bytes and can be replayed. The error
// names the feature.
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
		p := build(t, rules)
		result, err := p.Handle(t.Context(), record(c.value))
		var e *transform.Error
		must.That(t, errors.As(err, &e), "%v: got %v", name, err)
		expect.That(t, (c.code == "" || e.Code == c.code) && e.Stage == c.stage && e.Path == c.path && strings.Contains(e.Error(), c.path), "%v: got %s, %s, %q: %v", name, e.Code, e.Stage, e.Path, e)
		expect.That(t, len(result.Outputs) == 0 && result.ContentHash != "", "%v: got %+v", name, result)
		_, tried := p.Try(t.Context(), record(c.value))
		expect.That(t, tried != nil && tried.Error() == err.Error(), "%v: dry run %v, pipeline %v", name, tried, err)
	}
}

// A transient failure of a remote step retries the record, and names the feature.
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
	_, err = p.Handle(ctx, record(collection(part(`"a"`, "x"))))
	expect.That(t, errors.Is(err, context.Canceled), "a cancelled context gave %v", err)
}

func errOr(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// Filtered features have no output. A collection without remaining features is closed.
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
		_, err = p.Try(t.Context(), record(value))
		expect.That(t, err == nil, "%s: dry run: %v", value, err)
	}
}

// Collections can have every JSON input format, and Avro output.
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

// places is a service that answers for features, fails for b, and records the requested IDs.
func places(t *testing.T) (url string, requested func() []string) {
	t.Helper()
	var ids []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.URL.Query().Get("id")
		ids = append(ids, id)
		if strings.HasPrefix(id, "b") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"name":"somewhere"}`))
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string { defer func() { ids = nil }(); return ids }
}

const apartRules = "source: { split: features, version: properties.updated }\ntransform: { fields: [{ from: NAME, to: name, type: string, required: true }] }\n"

// failures returns index, path and code of each failed feature.
func failures(result retrytopics.Result) (all []string) {
	for _, f := range result.Failed {
		all = append(all, fmt.Sprintf("%s %s %s", f.Part, f.Identity.FeatureID, classify.Of(f.Err).Code))
	}
	return all
}

// Each feature fails independently, for whatever reason, and the failure names it. The other features are delivered as
// they would be without it. The dead letter of a feature has the collection with this feature alone.
func TestApart_S1_5_eachFeatureFailsByItself(t *testing.T) {
	url, requested := places(t)
	p := build(t, apartRules+"enrich: [{ name: place, http: { url: \""+url+"/?id={id}\", allow_private: true }, set: { place: /name } }]\n")
	parts := []string{
		part(`"a"`, "x"),
		strings.Replace(part(`"d"`, "y"), "[8.5,47.25]", "[8.5]", 1),
		strings.Replace(part(`"g"`, "y"), "47.25", "470.25", 1),
		strings.Replace(part(`"m"`, "y"), "NAME", "NOM", 1),
		strings.Replace(part(`"v"`, "y"), "updated", "at", 1),
		strings.Replace(part(`"n"`, "y"), `"id":"n",`, "", 1),
		part(`"b"`, "yy"), part(`"a"`, "z"), "17", part(`"c"`, "long"),
	}
	value := `{"type":"FeatureCollection", "title":"t","features":[` + strings.Join(parts, " , ") + `]}`
	result := must.Get(p.Handle(t.Context(), record(value)))(t)
	want := []string{
		"1/10  geometry_structure", "2/10 g coordinate_range", "3/10 m missing_required", "4/10 v missing_required", "5/10  missing_required",
		"6/10 b http_unavailable", "7/10 a duplicate_key", "8/10  wrong_type",
	}
	if got := failures(result); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	expect.That(t, result.Parts == 10 && result.Of == 10 && *result.Version == 4 && len(result.Outputs) == 2, "%d parts of %d, version %d, %d outputs", result.Parts, result.Of, *result.Version, len(result.Outputs))
	for i, at := range []int{0, 9} {
		alone, err := p.Handle(t.Context(), record(collection(parts[at])))
		if err != nil || string(alone.Outputs[0].Value) != string(result.Outputs[i].Value) || string(alone.Outputs[0].Key) != string(result.Outputs[i].Key) ||
			headerOf(result.Outputs[i], header.KeyPart) != fmt.Sprintf("%d/10", at) {
			t.Errorf("output %d is %+v, %v", i, result.Outputs[i], err)
		}
	}
	for _, f := range result.Failed {
		expect.That(t, strings.Contains(f.Err.Error(), fmt.Sprintf("/features/%d", f.Part.Index)), "part %s fails with %v", f.Part, f.Err)
		got, want := string(f.Value()), `{"type":"FeatureCollection", "title":"t","features":[`+parts[f.Part.Index]+`]}`
		expect.That(t, got == want, "part %s is %s", f.Part, got)
	}
	got := requested()
	expect.That(t, slices.Equal(slices.Compact(got), []string{"a", "b", "c", "a", "c"}), "asked for %q", got)
	_, tried := p.Try(t.Context(), record(value))
	expect.That(t, tried != nil && strings.Contains(tried.Error(), "7 of 10 features fail; the first: ") && strings.Contains(tried.Error(), "/features/1/"), "dry run: %v", tried)
}

// A retry maps the remaining features, with the version and the content hash of the whole collection, and calls
// remote steps only for these. A feature whose ID was already delivered is refused.
func TestApart_S1_9_aRetryIsAboutTheRest(t *testing.T) {
	url, requested := places(t)
	p := build(t, apartRules+"enrich: [{ name: place, http: { url: \""+url+"/?id={id}\", allow_private: true }, set: { place: /name } }]\n")
	r := record(collection(part(`"a"`, "x"), part(`"d"`, "xxxx"), part(`"c"`, "x"), part(`"a"`, "y")))
	first := must.Get(p.Handle(t.Context(), r))(t)
	requested()
	r.Attempt, r.Control = 2, &header.Control{Remaining: &header.Remaining{Of: 4, Open: []int{2, 3}, Delivered: 2}}
	second, err := p.Handle(t.Context(), r)
	must.That(t, err == nil && second.Parts == 2 && second.Of == 4 && *second.Version == 4 && second.ContentHash == first.ContentHash, "%+v, %v", second, err)
	got := failures(second)
	expect.That(t, slices.Equal(got, []string{"3/4 a duplicate_key"}) && len(second.Outputs) == 1 && headerOf(second.Outputs[0], header.KeyPart) == "2/4", "%q, %+v", got, second.Outputs)
	got = requested()
	expect.That(t, slices.Equal(got, []string{"c"}), "asked for %q", got)
	r.Control.Remaining = &header.Remaining{Of: 5, Open: []int{2}, Delivered: 4}
	_, err = p.Handle(t.Context(), r)
	expect.That(t, classify.Of(errOr(err)).Code == classify.CodeNotAFeature && strings.Contains(err.Error(), "has 4 features"), "remaining parts of another record gave %v", err)
}

// A replayed part is mapped like a feature of its collection: its ID is the key, and it keeps its part number. This also
// holds if an operator removed the collection around it. Two features are not a part.
func TestApart_S4_8_aReplayedPartIsTheFeatureThatItWas(t *testing.T) {
	p := build(t, apartRules)
	for _, value := range []string{collection(part(`"a"`, "x")), part(`"a"`, "x")} {
		r := record(value)
		r.Control = &header.Control{Part: header.Part{Index: 17, Of: 230}}
		result, err := p.Handle(t.Context(), r)
		must.That(t, err == nil && len(result.Outputs) == 1 && result.Parts == 0, "%s: %+v, %v", value, result, err)
		out := result.Outputs[0]
		expect.That(t, string(out.Key) == "a" && headerOf(out, header.KeyPart) == "17/230", "%s: output %s, %v", value, out.Key, out.Headers)
		r.Value = []byte(strings.Replace(value, "NAME", "NOM", 1))
		_, err = p.Handle(t.Context(), r)
		expect.That(t, classify.Of(errOr(err)).Code == classify.CodeMissingRequired && strings.Contains(err.Error(), "/features/17/properties/NAME"), "%s: a part that fails again gave %v", value, err)
	}
	r := record(collection(part(`"a"`, "x"), part(`"b"`, "x")))
	r.Control = &header.Control{Part: header.Part{Index: 17, Of: 230}}
	_, err := p.Handle(t.Context(), r)
	expect.That(t, classify.Of(errOr(err)).Code == classify.CodeNotAFeature && strings.Contains(err.Error(), "part 17/230"), "two features gave %v", err)
}

// Errors of the collection, the connection or the batch do not concern one feature: the record fails as a whole.
func TestApart_S1_5_whatIsNoFeaturesFaultFailsTheRecord(t *testing.T) {
	bad := strings.Replace(part(`"b"`, "y"), "NAME", "NOM", 1)
	for name, value := range map[string]string{
		"bbox":     `{"type":"FeatureCollection","bbox":[1],"features":[` + part(`"a"`, "x") + "," + bad + `]}`,
		"cut off":  `{"type":"FeatureCollection","features":[` + part(`"a"`, "x") + "," + bad,
		"framed":   `{"type":"FeatureCollection","title":"` + strings.Repeat("x", 17<<10) + `","features":[` + part(`"a"`, "x") + "," + bad + `]}`,
		"too many": collection(slices.Repeat([]string{part(`"a"`, "x")}, 10_001)...),
	} {
		result, err := build(t, apartRules).Handle(t.Context(), record(value))
		expect.That(t, err != nil && len(result.Failed)+len(result.Outputs) == 0, "%s: %v, %+v", name, err, result.Failed)
	}
	enveloped := record(`{"specversion":"1.0","id":"1","source":"/s","type":"t","data":` + collection(part(`"a"`, "x"), strings.Replace(bad, "[8.5,47.25]", "[8.5]", 1)) + `}`)
	enveloped.Headers = headers("content-type", "application/cloudevents+json")
	events := build(t, strings.Replace(apartRules, "split: features", "split: features, format: cloudevents, cloudevents: { data: geojson }", 1))
	if result, err := events.Handle(t.Context(), enveloped); err == nil || !strings.Contains(err.Error(), "/features/1/geometry") || len(result.Failed)+len(result.Outputs) != 0 {
		t.Errorf("in a structured event: %v, %+v", err, result)
	}
	p := build(t, apartRules)
	whole := map[string]error{
		"hold":  &retrytopics.UnavailableError{Dependency: "places", RetryAt: time.Now()},
		"batch": &transform.Error{Code: classify.CodeBatchQuarantined, Stage: classify.StageGate},
	}
	for name, failure := range whole {
		p.Observe(pipeline.Hooks{Mapped: func(*retrytopics.Record, *transform.Feature, bool) error { return failure }})
		result, err := p.Handle(t.Context(), record(collection(part(`"a"`, "x"))))
		expect.That(t, errors.Is(err, failure) && len(result.Failed) == 0, "%s: %v, %+v", name, err, result)
	}
}

// A panic concerns only its feature, and a feature that the target refuses does not prevent the others from being
// written.
func TestApart_S4_15_aPanicIsThatOfItsFeature(t *testing.T) {
	p := build(t, apartRules)
	p.Observe(pipeline.Hooks{
		Mapped: func(_ *retrytopics.Record, f *transform.Feature, _ bool) error {
			if f.IDString() == "b" {
				panic("b")
			}
			return nil
		},
		Made: func(_ context.Context, m pipeline.Made) error {
			for _, one := range m.Parts {
				if string(one.Key) == "d" {
					return &transform.Error{Code: classify.CodeCoercionFailed, Stage: classify.StageEncode, Message: "no row"}
				}
			}
			return nil
		},
	})
	result, err := p.Handle(t.Context(), record(collection(part(`"a"`, "x"), part(`"b"`, "x"), part(`"c"`, "x"), part(`"d"`, "x"), part(`"e"`, "x"))))
	must.That(t, err == nil && len(result.Outputs) == 3 && result.Parts == 5, "%+v, %v", result, err)
	got := failures(result)
	expect.That(t, slices.Equal(got, []string{"1/5 b panic", "3/5 d coercion_failed"}), "got %q", got)
}
