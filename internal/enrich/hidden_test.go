package enrich

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// A service may repeat the request in its answer in many ways; a key of the query comes out in none of them.
func TestExchange_no_form_of_a_secret(t *testing.T) {
	const key = `Zm9v+Ym/Fy"<x>`
	for name, echo := range map[string]func(*http.Request) string{
		"as_it_was_sent": func(r *http.Request) string { return "bad query " + r.URL.RawQuery },
		"plain":          func(r *http.Request) string { return "bad key " + r.URL.Query().Get("key") },
		"escaped_anew":   func(r *http.Request) string { return "bad key " + url.QueryEscape(r.URL.Query().Get("key")) },
		"JSON":           func(*http.Request) string { return `{"key":"Zm9v+Ym/Fy\"<x>"}` },
		"JSON_of_PHP":    func(*http.Request) string { return `{"key":"Zm9v+Ym\/Fy\"<x>"}` },
		"JSON_of_Go":     func(*http.Request) string { return `{"key":"Zm9v+Ym/Fy\"\u003cx\u003e"}` },
		"HTML":           func(r *http.Request) string { return "<p>" + html.EscapeString(r.URL.Query().Get("key")) },
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(echo(r)))
			})
			// The key as an operator may have written it into the file: valid, and in no normal form.
			err := make1(t, stepOf(server.URL+"/place?key=Zm9v%2bYm/Fy%22%3cx%3e", nil)).Apply(t.Context(), parcel(), "")
			request, response := exchange(err)
			if all := request + response + err.Error(); strings.Contains(all, "Zm9v") || !strings.Contains(all, "…") {
				t.Errorf("%s comes out in %s", key, all)
			}
		})
	}
}

// A redirect that leads to no URL is not followed, as any other one that is not; what the service wrote into it stays inside.
func TestRedirect_to_what_is_no_URL(t *testing.T) {
	for name, location := range map[string]string{"host": "http://[::1/?key=" + secret, "blank": "http://a b/?key=" + secret, "scheme": ":?key=" + secret} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Location"] = []string{location}
				w.WriteHeader(http.StatusFound)
			})
			err := make1(t, stepOf(server.URL+"/place", nil)).Apply(t.Context(), parcel(), "")
			wantFailure(t, err, classify.Permanent, classify.CodeHTTPRedirect, "/place: 302 Found")
		})
	}
}
