package enrich

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

const contentHash = "sha256:0123456789abcdef"

func post(url string, body any) config.EnrichStep {
	return stepOf(url, func(s *config.EnrichStep) {
		s.HTTP.Method, s.HTTP.Idempotent, s.HTTP.Body = config.HTTPMethodPost, true, body
	})
}

// S3-6: what is repeated carries a key by which the service knows it.
func TestPost_S3_6_carries_the_content_hash(t *testing.T) {
	var keys, bodies []string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		keys, bodies = append(keys, r.Method+" "+r.Header.Get("Idempotency-Key")), append(bodies, r.Header.Get("Content-Type")+" "+string(text))
		_, _ = io.WriteString(w, `{"name":"Ulm"}`)
	})
	steps := make1(t, post(server.URL, map[string]any{
		"id": "{id}", "text": `no {id} of "{properties.parcel_id}"`, "owner": "{properties.owner}", "n": int64(1), "list": []any{true, nil, 0.5},
	}), stepOf(server.URL, nil))
	must.Do(t, steps.Apply(t.Context(), parcel(), contentHash))
	if keys[0] != "POST "+contentHash || keys[1] != "GET " {
		t.Errorf("keys %q", keys)
	}
	if want := `application/json {"id":4711,"list":[true,null,0.5],"n":1,"owner":{"name":"Meier"},"text":"no 4711 of \"A 7/b&c=d?#ü%\""}`; bodies[0] != want {
		t.Errorf("body %s\nwant %s", bodies[0], want)
	}
}

func TestPost_unfit_feature(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	for text, code := range map[string]classify.Code{
		"{properties.nowhere}": classify.CodeMissingRequired, "{properties.none}": classify.CodeMissingRequired,
		"x{properties.empty}": classify.CodeMissingRequired, "x{properties.owner}": classify.CodeWrongType,
	} {
		err := make1(t, post(server.URL, map[string]any{"a": []any{text}})).Apply(t.Context(), parcel(), "")
		wantFailure(t, err, classify.Row, code, "request needs")
	}
	many := strings.Repeat("{properties.long}", 200)
	err := make1(t, post(server.URL, many)).Apply(t.Context(), parcel(), "")
	wantFailure(t, err, classify.Row, classify.CodeLimitExceeded, "body")
}

// A redirect that would turn a POST into a GET is the answer; one that keeps it is followed, body and key with it.
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
	if err := make1(t, post(server.URL+"/307", "x")).Apply(t.Context(), parcel(), contentHash); err != nil {
		t.Error(err)
	}
	err := make1(t, post(server.URL+"/303", "x")).Apply(t.Context(), parcel(), contentHash)
	wantFailure(t, err, classify.Permanent, classify.CodeHTTPRedirect, "303")
	if len(got) != 1 || got[0] != `POST "x" `+contentHash {
		t.Errorf("got %q", got)
	}
}

// Without an allowance nothing is sent to this machine, by address or by name, and the error names the keys.
func TestEgress_private_addresses_are_refused_by_default(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	for _, address := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		err := make1(t, stepOf(address, func(s *config.EnrichStep) { s.HTTP.AllowPrivate = false })).Apply(t.Context(), parcel(), "")
		wantFailure(t, err, classify.Permanent, classify.CodeAddressRefused, "set allow_private: true, or list its network in allow_networks")
	}
}

// A proxy may have any address, since the operator chose it; an address that stands in the URL may not.
func TestEgress_behind_a_proxy(t *testing.T) {
	var asked []string
	via := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		_, _ = io.WriteString(w, `{"name":"Ulm"}`)
	})
	at := must.Get(url.Parse(via.URL))(t)
	for target, refused := range map[string]bool{"http://places.example/x": false, "http://10.0.0.1/x": true} {
		steps := make1(t, stepOf(target, func(s *config.EnrichStep) { s.HTTP.AllowPrivate = false }))
		steps.steps[0].providers[0].lookup.(*httpLookup).client.Transport = newTransport(addressPolicy{}, 1,
			func(*http.Request) (*url.URL, error) { return at, nil })
		err := steps.Apply(t.Context(), parcel(), "")
		if refused {
			wantFailure(t, err, classify.Permanent, classify.CodeAddressRefused, "10.0.0.1")
		} else if err != nil {
			t.Error(err)
		}
	}
	if len(asked) != 1 || asked[0] != "http://places.example/x" {
		t.Errorf("the proxy was asked for %q", asked)
	}
}
