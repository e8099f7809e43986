package enrich

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// clock is the time from which a date in Retry-After is counted.
var clock = time.Date(2026, 3, 18, 1, 59, 0, 0, time.UTC)

// stepOf returns a step that requests url. change adjusts the defaults of the configuration.
func stepOf(url string, change func(*config.EnrichStep)) config.EnrichStep {
	s := config.EnrichStep{
		Name: "place", Set: map[string]string{"place_name": "/name"}, Required: true,
		HTTP: &config.HTTPLookup{
			URL: url, Method: config.HTTPMethodGet, Timeout: config.Duration(time.Minute), MaxConnections: 4, MaxResponseBytes: 1 << 20,
			MaxRedirects: 3, AllowPrivate: true,
		},
	}
	if change != nil {
		change(&s)
	}
	return s
}

func mustSteps(t *testing.T, steps ...config.EnrichStep) *Steps {
	t.Helper()
	s := must.Get(newSteps(steps, Options{}))(t)
	for _, step := range s.steps {
		for _, p := range step.providers {
			if l, ok := p.lookup.(*httpLookup); ok {
				l.now = func() time.Time { return clock }
			}
		}
	}
	t.Cleanup(s.Close)
	return s
}

// newSteps creates steps with the classifier and the maximum delay of a default pipeline file.
func newSteps(steps []config.EnrichStep, o Options) (*Steps, error) {
	if o.Classify == nil {
		o.Classify = classify.Of
	}
	o.RetryAfterLimit = time.Hour
	return New(steps, o)
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// parcel has an ID, and a plain, a nested and an empty property.
func parcel() *transform.Feature {
	text := transform.StringValue
	return &transform.Feature{
		ID: transform.IntegerValue(4711),
		Properties: []transform.Member{
			{Name: "parcel_id", Value: text("A 7/b&c=d?#ü%")},
			{Name: "owner", Value: transform.ObjectValue(transform.Member{Name: "name", Value: text("Meier")})},
			{Name: "none", Value: transform.NullValue()},
			{Name: "empty", Value: text("")},
			{Name: "up", Value: text("..")},
			{Name: "long", Value: text(strings.Repeat("x", 9000))},
		},
	}
}

func properties(t *testing.T, f *transform.Feature) string {
	t.Helper()
	out := must.Get(json.Marshal(transform.ObjectValue(f.Properties...)))(t)
	return string(out)
}

func TestApply_writes(t *testing.T) {
	const answer = `{"name":"Ulm","rank":12345678901234567890,"of":{"a/b":[1,{"x":null}]}}`
	for _, c := range []struct {
		name     string
		set      map[string]string
		required bool
		want     string
	}{
		{"a_text", map[string]string{"place_name": "/name"}, true, `{"a":1,"place_name":"Ulm"}`},
		{"a_number_with_all_its_digits", map[string]string{"r": "/rank"}, true, `{"a":1,"r":12345678901234567890}`},
		{"a_null_that_is_there", map[string]string{"n": "/of/a~1b/1/x"}, true, `{"a":1,"n":null}`},
		{"an_object", map[string]string{"o": "/of"}, true, `{"a":1,"o":{"a/b":[1,{"x":null}]}}`},
		{"over_a_property_that_is_there", map[string]string{"a": "/name"}, true, `{"a":"Ulm"}`},
		{"several_in_the_order_of_their_names", map[string]string{"z": "/name", "b": "/of/a~1b/0"}, true, `{"a":1,"b":1,"z":"Ulm"}`},
		{"null_for_what_is_not_required", map[string]string{"m": "/missing", "n": "/name"}, false, `{"a":1,"m":null,"n":"Ulm"}`},
		{"the_whole_answer", map[string]string{"all": ""}, true, `{"a":1,"all":` + answer + `}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := serve(t, say(answer))
			steps := mustSteps(t, stepOf(server.URL, func(s *config.EnrichStep) { s.Set, s.Required = c.set, c.required }))
			f := &transform.Feature{Properties: []transform.Member{{Name: "a", Value: transform.IntegerValue(1)}}}
			must.Do(t, steps.Apply(t.Context(), f, ""))
			expect.Equal(t, properties(t, f), c.want)
		})
	}
}

func TestApply_escapes(t *testing.T) {
	f := parcel()
	f.SetProperty("v", transform.StringValue("a\\b\n../c;d&e=f#%2e"))
	for text, want := range map[string]string{
		"/place/{id}":                          "/place/4711",
		"/place/{properties.parcel_id}/near":   "/place/A%207%2Fb&c=d%3F%23%C3%BC%25/near",
		"/place?id={properties.parcel_id}&n=1": "/place?id=A%207%2Fb%26c%3Dd%3F%23%C3%BC%25&n=1",
		"/place?owner={properties.owner.name}": "/place?owner=Meier",
		"/{id}/{id}?{id}={id}":                 "/4711/4711?4711=4711",
		"/a{properties.up}b":                   "/a..b",
		"/p?q={properties.up}":                 "/p?q=..",
		"/p?q={properties.v}":                  "/p?q=a%5Cb%0A..%2Fc%3Bd%26e%3Df%23%252e",
	} {
		u, err := must.Get(parseAddress("http://h" + text))(t).fill(f)
		expect.That(t, err == nil && u.String() == "http://h"+want, "S1-9: %s results in %v, want %s: %v", text, u, want, err)
	}
}

func TestNew_faults(t *testing.T) {
	with := func(change func(*config.EnrichStep)) config.EnrichStep { return stepOf("http://h/{id}", change) }
	for _, c := range []struct {
		name string
		step config.EnrichStep
		want string
	}{
		{"no_such_value", with(func(s *config.EnrichStep) { s.HTTP.URL = "http://h/{name}" }), "{name}"},
		{"brace_not_closed", with(func(s *config.EnrichStep) { s.HTTP.URL = "http://h/{id" }), "without a }"},
		{"brace_not_opened", with(func(s *config.EnrichStep) { s.HTTP.URL = "http://h/id}" }), "without a {"},
		{"value_in_the_host", with(func(s *config.EnrichStep) { s.HTTP.URL = "http://{id}.h/" }), "host"},
		{"value_in_the_scheme", with(func(s *config.EnrichStep) { s.HTTP.URL = "{id}://h/" }), "host"},
		{"other_scheme", with(func(s *config.EnrichStep) { s.HTTP.URL = "file:///{id}" }), "http://"},
		{"credentials", with(func(s *config.EnrichStep) { s.HTTP.URL = "http://u:hunter2@h/{id}" }), "secrets"},
		{"fragment", with(func(s *config.EnrichStep) { s.HTTP.URL = "http://h/#{id}" }), "#"},
		{"dots", with(func(s *config.EnrichStep) { s.HTTP.URL = "http://h/../{id}" }), ".."},
	} {
		_, err := newSteps([]config.EnrichStep{stepOf("http://h/", nil), c.step}, Options{})
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want) && strings.Contains(err.Error(), "enrich[1] (place)"), "%v: got %v, want %q in it", c.name, err, c.want)
		expect.That(t, err == nil || !strings.Contains(err.Error(), "hunter2"), "%v: the error shows a password: %v", c.name, err)
	}
}

const contentHash = "sha256:0123456789abcdef"

func post(url string, body any) config.EnrichStep {
	return stepOf(url, func(s *config.EnrichStep) {
		s.HTTP.Method, s.HTTP.Idempotent, s.HTTP.Body = config.HTTPMethodPost, true, body
	})
}

// S3-6: a repeated request has a key by which the service recognizes it.
func TestPost_S3_6_carries_the_content_hash(t *testing.T) {
	var keys, bodies []string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		keys, bodies = append(keys, r.Method+" "+r.Header.Get("Idempotency-Key")), append(bodies, r.Header.Get("Content-Type")+" "+string(text))
		_, _ = io.WriteString(w, `{"name":"Ulm"}`)
	})
	steps := mustSteps(t, post(server.URL, map[string]any{
		"id": "{id}", "text": `no {id} of "{properties.parcel_id}"`, "owner": "{properties.owner}", "n": int64(1), "list": []any{true, nil, 0.5},
	}), stepOf(server.URL, nil))
	must.Do(t, steps.Apply(t.Context(), parcel(), contentHash))
	expect.That(t, keys[0] == "POST "+contentHash && keys[1] == "GET ", "keys %q", keys)
	want := `application/json {"id":4711,"list":[true,null,0.5],"n":1,"owner":{"name":"Meier"},"text":"no 4711 of \"A 7/b&c=d?#ü%\""}`
	expect.That(t, bodies[0] == want, "body %s\nwant %s", bodies[0], want)
}

// A redirect that would turn a POST into a GET is returned as the answer. Other redirects are followed, with body and
// key.
func TestPost_redirects(t *testing.T) {
	var got []string
	mux := http.NewServeMux()
	mux.HandleFunc("/new", func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+string(text)+" "+r.Header.Get("Idempotency-Key"))
		_, _ = io.WriteString(w, `{"name":"Ulm"}`)
	})
	mux.Handle("/307", http.RedirectHandler("/new", http.StatusTemporaryRedirect))
	mux.Handle("/303", http.RedirectHandler("/new", http.StatusSeeOther))
	server := serve(t, mux.ServeHTTP)
	expect.Do(t, mustSteps(t, post(server.URL+"/307", "x")).Apply(t.Context(), parcel(), contentHash))
	err := mustSteps(t, post(server.URL+"/303", "x")).Apply(t.Context(), parcel(), contentHash)
	wantFailure(t, err, classify.Permanent, classify.CodeHTTPRedirect, "303")
	expect.That(t, len(got) == 1 && got[0] == `POST "x" `+contentHash, "got %q", got)
}

// By default, nothing is sent to this machine, by address or by name, and the error names the keys.
func TestEgress_private_addresses_are_refused_by_default(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	for _, address := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		err := mustSteps(t, stepOf(address, func(s *config.EnrichStep) { s.HTTP.AllowPrivate = false })).Apply(t.Context(), parcel(), "")
		wantFailure(t, err, classify.Permanent, classify.CodeAddressRefused, "set allow_private: true, or list its network in allow_networks")
	}
}

// A proxy may have any address, because the operator chose it. An address in the URL may not.
func TestEgress_behind_a_proxy(t *testing.T) {
	var requested []string
	via := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.URL.String())
		_, _ = io.WriteString(w, `{"name":"Ulm"}`)
	})
	at := must.Get(url.Parse(via.URL))(t)
	for target, refused := range map[string]bool{"http://places.example/x": false, "http://10.0.0.1/x": true} {
		steps := mustSteps(t, stepOf(target, func(s *config.EnrichStep) { s.HTTP.AllowPrivate = false }))
		steps.steps[0].providers[0].lookup.(*httpLookup).client.Transport = newTransport(addressPolicy{}, 1,
			func(*http.Request) (*url.URL, error) { return at, nil })
		err := steps.Apply(t.Context(), parcel(), "")
		if refused {
			wantFailure(t, err, classify.Permanent, classify.CodeAddressRefused, "10.0.0.1")
		} else if err != nil {
			t.Error(err)
		}
	}
	expect.That(t, len(requested) == 1 && requested[0] == "http://places.example/x", "requests to the proxy: %q", requested)
}

// service answers instead of a network, so that the test runs in a bubble of synctest.
type service struct {
	mu    sync.Mutex
	calls int
	act   func(*http.Request) (*http.Response, error)
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.calls++
	act := s.act
	s.mu.Unlock()
	return act(r)
}

func (s *service) is(act func(*http.Request) (*http.Response, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.act = act
}

// newRequests returns the number of requests since its last call.
func (s *service) newRequests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.calls
	s.calls = 0
	return n
}

func status(code int) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"name":"Ulm"}`)), Request: r}, nil
	}
}

func broken(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// later answers after a time, whatever the caller does.
func later(wait time.Duration, act func(*http.Request) (*http.Response, error)) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		<-time.NewTimer(wait).C // in the bubble's time
		return act(r)
	}
}

// guarded returns one step per breaker, each with its own working service.
func guarded(t *testing.T, o Options, breakers ...*config.Breaker) (*Steps, []*service) {
	t.Helper()
	var configured []config.EnrichStep
	for i, b := range breakers {
		configured = append(configured, stepOf("http://places/{id}", func(s *config.EnrichStep) {
			s.Name, s.HTTP.Breaker, s.HTTP.MaxConnections = string(rune('a'+i)), b, 64
		}))
	}
	steps := must.Get(newSteps(configured, o))(t)
	services := make([]*service, len(breakers))
	for i := range services {
		services[i] = &service{act: status(200)}
		steps.steps[i].providers[0].lookup.(*httpLookup).client.Transport = services[i]
	}
	return steps, services
}

// openBreakers lists the steps with an open or half-open breaker.
func openBreakers(steps *Steps) []string {
	var names []string
	for _, s := range steps.Status() {
		if s.Circuit == breaker.StateOpen || s.Circuit == breaker.StateHalfOpen {
			names = append(names, s.Step)
		}
	}
	return names
}

// outcome returns the outcome of one call of Apply: ok, hold, or a failure's code.
func outcome(ctx context.Context, steps *Steps) string {
	err := steps.Apply(ctx, parcel(), "")
	switch {
	case err == nil:
		return "ok"
	case deferral(err) != nil:
		return "deferred"
	}
	return string(classify.Of(err).Code)
}

func deferral(err error) *retrytopics.UnavailableError {
	unavailable, _ := errors.AsType[*retrytopics.UnavailableError](err)
	return unavailable
}
