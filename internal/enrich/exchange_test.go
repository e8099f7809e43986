package enrich

import (
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// exchange gives what a dead letter would say of the request and its answer; "" for what is not known.
func exchange(err error) (request, response string) {
	if r := classify.RequestOf(err); r != nil {
		request = r.Text()
	}
	if r := classify.ResponseOf(err); r != nil {
		response = r.Text()
	}
	return request, response
}

// What was asked, and what was answered, of each kind of failure.
func TestExchange_S2_5_of_every_kind_of_failure(t *testing.T) {
	tagged := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("X-Request-ID", "7f3a")
			if status == 503 {
				w.Header().Set("Retry-After", "30")
			}
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, body)
		}
	}
	echo := func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s no JSON for %s", strings.Repeat("x", 172), r.URL)
	}
	for name, c := range map[string]struct {
		answer   http.HandlerFunc
		response string
	}{
		"a status":               {tagged(503, "text/html", "<p>down"), `{"status":503,"retry_after":"30","request_id":"7f3a","content_type":"text/html","body":"<p>down"}`},
		"no JSON":                {tagged(200, "text/html", "<p>login"), `{"status":200,"request_id":"7f3a","content_type":"text/html","body":"<p>login"}`},
		"not what is needed":     {tagged(200, "application/json", `{"title":"Ulm"}`), ""},
		"no answer":              {hijack(func(*net.TCPConn) {}), ""},
		"half an answer":         {send("HTTP/1.1 200 OK\r\nX-Request-Id: 7f3a\r\nContent-Length: 100\r\n\r\n{\"name\":"), `{"status":200,"request_id":"7f3a"}`},
		"a secret that is cut":   {echo, `{"status":200,"content_type":"text/plain; charset=utf-8","body":"` + strings.Repeat("x", 172) + ` no JSON for /place?key=…"}`},
		"a secret in a redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://other/?key="+secret, 302) }, `{"status":302,"content_type":"text/html; charset=utf-8","body":"<a href=\"http://other/?key=…\">Found</a>."}`},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, c.answer)
			steps := make1(t, stepOf(server.URL+"/place?key="+secret, nil))
			request, response := exchange(steps.Apply(t.Context(), parcel(), ""))
			want := regexp.MustCompile(`^{"step":"place","provider":"place","method":"GET","url":"` + regexp.QuoteMeta(server.URL) + `/place"(,"took_ms":\d+)?}$`)
			expect.That(t, want.MatchString(request), "request %s", request)
			expect.That(t, response == c.response, "response %s, want %s", response, c.response)
		})
	}
}

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
			all := request + response + err.Error()
			expect.That(t, !strings.Contains(all, "Zm9v") && strings.Contains(all, "…"), "%s comes out in %s", key, all)
		})
	}
}
