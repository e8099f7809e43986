package enrich

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"html"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// secret is in the query of every URL in this file, and must not be in any error.
const secret = "sesame"

// refuse answers with a status and header fields, given as names and values.
func refuse(status int, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), quotaHeader(fields...))
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			_, _ = io.WriteString(w, "please wait")
		}
	}
}

// hijack takes the connection from the server.
func hijack(act func(*net.TCPConn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		act(conn.(*net.TCPConn))
		_ = conn.Close()
	}
}

func send(text string) http.HandlerFunc {
	return hijack(func(c *net.TCPConn) { _, _ = io.WriteString(c, text) })
}

func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_, _ = io.WriteString(z, `{"name":"`+strings.Repeat("x", 4<<20)+`"}`)
	_ = z.Close()
}

// drip sends a body byte by byte until the client disconnects.
func drip(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		_, _ = w.Write([]byte(" "))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// Every failure of a real server, over a real connection: its class and code, whether the breaker counts it, and whether
// another provider is asked (S2-6).
func TestApply_S4_3_every_way_to_fail(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Length: "
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		class  classify.Class
		code   classify.Code
		after  time.Duration
		counts bool // by the breaker
	}{
		{"S1-6_429_in_seconds", refuse(429, "Retry-After", "120"), classify.RetryAfter, "http_too_many_requests", 2 * time.Minute, false},
		{"S1-6_429_as_a_date", refuse(429, "Retry-After", "Wed, 18 Mar 2026 02:00:00 GMT"), classify.RetryAfter, "http_too_many_requests", time.Minute, false},
		{"S2-2_429_date_in_the_past", refuse(429, "Retry-After", "Wed, 18 Mar 2026 01:00:00 GMT"), classify.RetryAfter, "http_too_many_requests", 0, false},
		{"S2-2_429_absurd_is_passed_on", refuse(429, "Retry-After", "31536000"), classify.RetryAfter, "http_too_many_requests", 365 * 24 * time.Hour, false},
		{"S2-2_429_without_Retry-After", refuse(429), classify.RetryAfter, "http_too_many_requests", 0, false},
		{"S2-2_429_with_invalid_Retry-After", refuse(429, "Retry-After", "soon"), classify.RetryAfter, "http_too_many_requests", 0, false},
		{"S2-2_429_with_the_reset_of_a_limit", refuse(429, "RateLimit", `"day";r=0;t=45`), classify.RetryAfter, "http_too_many_requests", 45 * time.Second, false},
		{"S2-2_429_Retry-After_before_the_limit", refuse(429, "Retry-After", "7", "RateLimit", `"day";r=0;t=45`), classify.RetryAfter, "http_too_many_requests", 7 * time.Second, false},
		{"S2-2_429_with_some_left", refuse(429, "RateLimit", `"day";r=3;t=45`), classify.RetryAfter, "http_too_many_requests", 0, false},
		{"S2-3_503_is_not_429", refuse(503), classify.RetryBackoff, "http_unavailable", 0, true},
		{"S2-2_503_holds_the_second_by_the_limit", refuse(503, "RateLimit", `"day";r=0;t=45`), classify.RetryBackoff, "http_unavailable", 0, false},
		{"S2-3_503_with_retry_after", refuse(503, "Retry-After", "7"), classify.RetryBackoff, "http_unavailable", 7 * time.Second, true},
		{"502", refuse(502), classify.RetryBackoff, "http_bad_gateway", 0, true},
		{"504", refuse(504), classify.RetryBackoff, "http_gateway_timeout", 0, true},
		{"500", refuse(500), classify.Permanent, "http_server_error", 0, false},
		{"401", refuse(401), classify.Permanent, "http_unauthorized", 0, false},
		{"403_repeats_the_request", func(w http.ResponseWriter, r *http.Request) { http.Error(w, r.URL.String(), 403) }, classify.Permanent, "http_forbidden", 0, false},
		{"404_row_level", refuse(404), classify.Row, "http_not_found", 0, false},
		{"redirected_in_circles", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), 302) }, classify.Permanent, "http_redirect", 0, false},
		{"redirect_to_half_a_host", refuse(302, "Location", "http://[::1/?key="+secret), classify.Permanent, "http_redirect", 0, false},
		{"redirect_to_a_blank", refuse(302, "Location", "http://a b/?key="+secret), classify.Permanent, "http_redirect", 0, false},
		{"redirect_without_a_scheme", refuse(302, "Location", ":?key="+secret), classify.Permanent, "http_redirect", 0, false},

		{"not_JSON", say("<html>maintenance</html>"), classify.RetryBackoff, "bad_response", 0, false},
		{"JSON_and_more", say(`{"name":"Ulm"} {"name":"Bonn"}`), classify.RetryBackoff, "bad_response", 0, false},
		{"two_answers_in_one_name", say(`{"name":"Ulm","name":"Bonn"}`), classify.RetryBackoff, "bad_response", 0, false},
		{"empty_answer", say(""), classify.RetryBackoff, "bad_response", 0, false},
		{"no_content", refuse(204), classify.RetryBackoff, "bad_response", 0, false},
		{"too_large", say(`{"name":"` + strings.Repeat("x", 2000) + `"}`), classify.RetryBackoff, "bad_response", 0, false},
		{"too_large_once_unpacked", bomb, classify.RetryBackoff, "bad_response", 0, false},
		{"value_is_missing", say(`{"title":"Ulm"}`), classify.Row, "missing_required", 0, false},
		{"answer_is_a_list", say(`["Ulm"]`), classify.Row, "missing_required", 0, false},
		{"gzip_that_is_none", refuse(200, "Content-Encoding", "gzip"), classify.RetryBackoff, "network", 0, true},

		{"refused", nil, classify.RetryBackoff, "connection_refused", 0, true},
		{"reset_in_the_middle", hijack(cut), classify.RetryBackoff, "connection_reset", 0, true},
		{"closed_without_a_byte", send(" "), classify.RetryBackoff, "network", 0, true},
		{"half_a_head", send(head + "100\r\n"), classify.RetryBackoff, "connection_reset", 0, true},
		{"half_a_line_of_the_head", send("HTTP/1.1 200 OK\r\nContent-Le"), classify.RetryBackoff, "network", 0, true},
		{"half_an_answer", send(head + "100\r\n\r\n{\"name\":\"U"), classify.RetryBackoff, "connection_reset", 0, true},
		{"half_a_chunk", send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"name\":\"U"), classify.RetryBackoff, "connection_reset", 0, true},
		{"length_too_long", send(head + "16\r\n\r\n{\"name\":\"Ulm\"}"), classify.RetryBackoff, "connection_reset", 0, true},
		{"length_too_short", send(head + "5\r\n\r\n{\"name\":\"Ulm\"}"), classify.RetryBackoff, "bad_response", 0, false},
		{"length_that_is_no_number", send(head + "many\r\n\r\n{}"), classify.RetryBackoff, "network", 0, true},
		{"not_HTTP", send("SSH-2.0-OpenSSH_9.2\r\n"), classify.RetryBackoff, "network", 0, true},
		{"slow_loris", drip, classify.RetryBackoff, "timeout", 0, true},
		{"S4-5_stuck", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, classify.RetryBackoff, "timeout", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			address := "http://127.0.0.1:1"
			if c.answer != nil {
				address = serve(t, c.answer).URL
			}
			step := stepOf(address+"/place?id={id}&key="+secret, func(s *config.EnrichStep) {
				s.HTTP.RetryAfter, s.HTTP.MaxResponseBytes = config.RetryAfterRecord, 1000
				if c.code == classify.CodeTimeout {
					s.HTTP.Timeout = config.Duration(300 * time.Millisecond)
				}
				s.HTTP.Breaker = &config.Breaker{Failures: 2, Window: config.Duration(time.Minute), Cooldown: config.Duration(time.Minute), Successes: 1}
			})
			steps, f := mustSteps(t, step), parcel()
			expect.Equal(t, wantFailure(t, steps.Apply(t.Context(), f, ""), c.class, c.code, "/place").RetryAfter, c.after, "the failure asks for retry after")
			expect.Equal(t, properties(t, f), properties(t, parcel()), "the feature was changed to")
			outcome(t.Context(), steps)
			expect.Equal(t, openBreakers(steps) != nil, c.counts, "the breaker counts it")
			good := stepOf(serve(t, say(`{"name":"Ulm"}`)).URL, nil).HTTP
			step.Providers = []config.Provider{{Name: "main", HTTP: step.HTTP}, {Name: "mirror", HTTP: good}}
			step.HTTP, step.SetProvider = nil, "by"
			mended := map[classify.Class]string{classify.RetryBackoff: "mirror", classify.RetryAfter: "mirror"}[c.class]
			expect.Equal(t, answeredBy(t, mustSteps(t, step)), cmp.Or(mended, string(c.code)), "with a mirror")
		})
	}
}

// cut resets a connection in the middle of an answer.
func cut(c *net.TCPConn) {
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
	_ = c.SetLinger(0)
}

// wantFailure classifies err as the engine does, and checks class, code and text.
func wantFailure(t *testing.T, err error, class classify.Class, code classify.Code, want string) classify.Failure {
	t.Helper()
	must.That(t, err != nil, "no error")
	f := classify.Of(err)
	expect.That(t, f.Class == class && f.Code == code && f.Stage == classify.StageEnrich, "%v\nis %s, %s at %s; want %s, %s", err, f.Class, f.Code, f.Stage, class, code)
	request, response := exchange(err)
	expect.That(t, !strings.Contains(request+response, secret), "a secret in %s, %s", request, response)
	text := err.Error()
	expect.That(t, strings.HasPrefix(text, "enrich step place: ") && strings.Contains(text, want) && !strings.Contains(text, secret) && !strings.Contains(text, "\n"), "message %q, want %q in it", text, want)
	return f
}

// TestApply_unfit_feature checks that nothing is sent if the feature lacks a value of the request.
func TestApply_unfit_feature(t *testing.T) {
	address := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }).URL
	place := func(template string) config.EnrichStep { return stepOf(address+template, nil) }
	where := func(value string) config.EnrichStep { return wfsStep(address, map[string]string{"a": value}) }
	byID := wfsStep(address, nil)
	byID.HTTP.WFS.ID = "parcels.{properties.v}"
	for _, c := range []struct {
		name, v string // the value of the property v
		step    config.EnrichStep
		code    classify.Code
	}{
		{"absent", "", place("/{properties.nowhere}"), "missing_required"},
		{"null", "", place("/{properties.none}"), "missing_required"},
		{"empty", "", place("/{properties.empty}"), "missing_required"},
		{"object", "", place("/{properties.owner}"), "wrong_type"},
		{"dots_as_a_segment", "", place("/place/{properties.up}/secret"), "coercion_failed"},
		{"too_long", "", place("/?q={properties.long}"), "limit_exceeded"},
		{"S1-9_nul", "a\x00b", place("/?q={properties.v}"), "coercion_failed"},
		{"S1-9_escape", "a\x1bb", place("/?q={properties.v}"), "coercion_failed"},
		{"S1-9_next_line", "a\u0085b", place("/?q={properties.v}"), "coercion_failed"},
		{"S1-9_delete", "a\x7fb", place("/?q={properties.v}"), "coercion_failed"},

		{"absent_in_a_body", "", post(address, []any{"{properties.nowhere}"}), "missing_required"},
		{"null_in_a_body", "", post(address, []any{"{properties.none}"}), "missing_required"},
		{"empty_in_a_text", "", post(address, "x{properties.empty}"), "missing_required"},
		{"object_in_a_text", "", post(address, "x{properties.owner}"), "wrong_type"},
		{"too_long_a_body", "", post(address, strings.Repeat("{properties.long}", 200)), "limit_exceeded"},

		{"null_in_a_filter", "", where("{properties.none}"), "missing_required"},
		{"too_long_a_filter", "", where("{properties.long}"), "limit_exceeded"},
		{"S1-9_nul_in_a_filter", "a\x00b", where("{properties.v}"), "coercion_failed"},
		{"S1-9_no_character_in_a_filter", "a\uFFFE", where("{properties.v}"), "coercion_failed"},
		{"S1-9_two_ids", "1,parcels.2", byID, "coercion_failed"},
		{"S1-9_brackets_in_an_id", "1)(parcels.2", byID, "coercion_failed"},
		{"S1-9_line_in_an_id", "1\n2", byID, "coercion_failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := parcel()
			f.SetProperty("v", transform.StringValue(c.v))
			wantFailure(t, mustSteps(t, c.step).Apply(t.Context(), f, ""), classify.Row, c.code, "")
		})
	}
	t.Run("no_id", func(t *testing.T) {
		err := mustSteps(t, place("/{id}")).Apply(t.Context(), &transform.Feature{}, "")
		wantFailure(t, err, classify.Row, classify.CodeMissingRequired, "no id")
	})
}

// exchange returns the request and response that a dead letter would contain; "" if unknown.
func exchange(err error) (request, response string) {
	if r := classify.RequestOf(err); r != nil {
		request = r.Text()
	}
	if r := classify.ResponseOf(err); r != nil {
		response = r.Text()
	}
	return request, response
}

// S2-5: the request and the response of each kind of failure.
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
		"a missing value":        {tagged(200, "application/json", `{"title":"Ulm"}`), ""},
		"no answer":              {hijack(func(*net.TCPConn) {}), ""},
		"an incomplete answer":   {send("HTTP/1.1 200 OK\r\nX-Request-Id: 7f3a\r\nContent-Length: 100\r\n\r\n{\"name\":"), `{"status":200,"request_id":"7f3a"}`},
		"a truncated secret":     {echo, `{"status":200,"content_type":"text/plain; charset=utf-8","body":"` + strings.Repeat("x", 172) + ` no JSON for /place?key=…"}`},
		"a secret in a redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://other/?key="+secret, 302) }, `{"status":302,"content_type":"text/html; charset=utf-8","body":"<a href=\"http://other/?key=…\">Found</a>."}`},
	} {
		server := serve(t, c.answer)
		steps := mustSteps(t, stepOf(server.URL+"/place?key="+secret, nil))
		request, response := exchange(steps.Apply(t.Context(), parcel(), ""))
		want := regexp.MustCompile(`^{"step":"place","provider":"place","method":"GET","url":"` + regexp.QuoteMeta(server.URL) + `/place"(,"took_ms":\d+)?}$`)
		expect.That(t, want.MatchString(request), "%v: request %s", name, request)
		expect.That(t, response == c.response, "%v: response %s, want %s", name, response, c.response)
	}
}

// A service may repeat the request in its answer in many forms. A key of the query must not appear in any of them.
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
			// The key is valid and not normalized, as an operator may have written it.
			err := mustSteps(t, stepOf(server.URL+"/place?key=Zm9v%2bYm/Fy%22%3cx%3e", nil)).Apply(t.Context(), parcel(), "")
			request, response := exchange(err)
			all := request + response + err.Error()
			expect.That(t, !strings.Contains(all, "Zm9v") && strings.Contains(all, "…"), "%s appears in %s", key, all)
		})
	}
}
