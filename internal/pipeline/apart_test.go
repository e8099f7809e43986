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

	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// places answers for features, fails for b, and counts who is asked.
func places(t *testing.T) (url string, asked func() []string) {
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

// failures gives index, path of the fault and code of each feature that failed.
func failures(result retrytopics.Result) (all []string) {
	for _, f := range result.Failed {
		all = append(all, fmt.Sprintf("%s %s %s", f.Part, f.Identity.FeatureID, classify.Of(f.Err).Code))
	}
	return all
}

// Each feature that fails does so by itself, for whatever reason, and says which it is. The others are delivered as they
// would be without it, and the dead letter of one holds the collection with this feature alone.
func TestApart_S1_5_eachFeatureFailsByItself(t *testing.T) {
	url, asked := places(t)
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
	expect.That(t, result.Parts == 10 && result.Of == 10 && *result.Version == 4 && len(result.Outputs) == 2,
		"%d parts of %d, version %d, %d outputs", result.Parts, result.Of, *result.Version, len(result.Outputs))
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
	if got := asked(); !slices.Equal(slices.Compact(got), []string{"a", "b", "c", "a", "c"}) {
		t.Errorf("asked for %q", got)
	}
	_, tried := p.Try(t.Context(), record(value))
	expect.That(t, tried != nil && strings.Contains(tried.Error(), "7 of 10 features fail; the first: ") && strings.Contains(tried.Error(), "/features/1/"), "the dry run says %v", tried)
}

// A retry maps what is left, with the version and the content hash of the whole, and no remote step is asked for the others. A feature
// with the id of one that was delivered before is refused in it.
func TestApart_S1_9_aRetryIsAboutTheRest(t *testing.T) {
	url, asked := places(t)
	p := build(t, apartRules+"enrich: [{ name: place, http: { url: \""+url+"/?id={id}\", allow_private: true }, set: { place: /name } }]\n")
	r := record(collection(part(`"a"`, "x"), part(`"d"`, "xxxx"), part(`"c"`, "x"), part(`"a"`, "y")))
	first := must.Get(p.Handle(t.Context(), r))(t)
	asked()
	r.Attempt, r.Control = 2, &header.Control{Remaining: &header.Remaining{Of: 4, Open: []int{2, 3}, Delivered: 2}}
	second, err := p.Handle(t.Context(), r)
	must.That(t, err == nil && second.Parts == 2 && second.Of == 4 && *second.Version == 4 && second.ContentHash == first.ContentHash, "%+v, %v", second, err)
	got := failures(second)
	expect.That(t, slices.Equal(got, []string{"3/4 a duplicate_key"}) && len(second.Outputs) == 1 && headerOf(second.Outputs[0], header.KeyPart) == "2/4", "%q, %+v", got, second.Outputs)
	got = asked()
	expect.That(t, slices.Equal(got, []string{"c"}), "asked for %q", got)
	r.Control.Remaining = &header.Remaining{Of: 5, Open: []int{2}, Delivered: 4}
	if _, err := p.Handle(t.Context(), r); classify.Of(errOr(err)).Code != classify.CodeNotAFeature || !strings.Contains(err.Error(), "has 4 features") {
		t.Errorf("a rest of another record gave %v", err)
	}
}

// A part that is put back maps like a feature of its collection: its id is the key, and it is the part that it was. So it does when an
// operator wrote it without its collection; two features are no part.
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
		if _, err := p.Handle(t.Context(), r); classify.Of(errOr(err)).Code != classify.CodeMissingRequired || !strings.Contains(err.Error(), "/features/17/properties/NAME") {
			t.Errorf("%s: a part that fails again gave %v", value, err)
		}
	}
	r := record(collection(part(`"a"`, "x"), part(`"b"`, "x")))
	r.Control = &header.Control{Part: header.Part{Index: 17, Of: 230}}
	if _, err := p.Handle(t.Context(), r); classify.Of(errOr(err)).Code != classify.CodeNotAFeature || !strings.Contains(err.Error(), "part 17/230") {
		t.Errorf("two features gave %v", err)
	}
}

// What is wrong with the collection, with the connection or with the batch is no feature's fault: the record fails as one.
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

// A panic in a feature is its own, and a feature that its target refuses keeps no other one from being written.
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
