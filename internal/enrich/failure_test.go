package enrich

import (
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// secret stands in the query of every URL here and must stand in no error.
const secret = "sesame"

// refuse answers with a status and, when it is not empty, Retry-After.
func refuse(status int, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "please wait")
	}
}

// hijack takes the connection away from the server.
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

func TestApply_failures(t *testing.T) {
	type row struct {
		name   string
		answer http.HandlerFunc
		class  classify.Class
		code   classify.Code
		after  time.Duration
		says   string
	}
	for _, r := range []row{
		{"S1-6_429_in_seconds", refuse(429, "120"), classify.RetryAfter, "http_too_many_requests", 2 * time.Minute, "429 Too Many Requests, retry after 2m0s"},
		{"S1-6_429_as_a_date", refuse(429, "Wed, 18 Mar 2026 02:00:00 GMT"), classify.RetryAfter, "http_too_many_requests", time.Minute, "retry after 1m0s"},
		{"S2-2_429_date_in_the_past", refuse(429, "Wed, 18 Mar 2026 01:00:00 GMT"), classify.RetryAfter, "http_too_many_requests", 0, "429"},
		{"S2-2_429_absurd_is_passed_on", refuse(429, "31536000"), classify.RetryAfter, "http_too_many_requests", 365 * 24 * time.Hour, "429"},
		{"S2-2_429_that_says_nothing", refuse(429, ""), classify.RetryAfter, "http_too_many_requests", 0, "429"},
		{"S2-2_429_that_says_nonsense", refuse(429, "soon"), classify.RetryAfter, "http_too_many_requests", 0, "429"},
		{"S2-3_503_is_not_429", refuse(503, ""), classify.RetryBackoff, "http_unavailable", 0, `503 Service Unavailable: "please wait"`},
		{"S2-3_503_with_retry_after", refuse(503, "7"), classify.RetryBackoff, "http_unavailable", 7 * time.Second, "503"},
		{"S4-3_500", refuse(500, ""), classify.Permanent, "http_server_error", 0, "500"},
		{"answer_repeats_the_request", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "bad key in "+r.URL.String(), 403) }, classify.Permanent, "http_forbidden", 0, `"bad key in /place?key=…"`},
		{"S4-3_401", refuse(401, ""), classify.Permanent, "http_unauthorized", 0, "401"},
		{"S4-3_404_row_level", refuse(404, ""), classify.Row, "http_not_found", 0, "404"},

		{"not_JSON", say("<html>maintenance</html>"), classify.RetryBackoff, "bad_response", 0, "not JSON"},
		{"JSON_and_more", say(`{"name":"Ulm"} {"name":"Bonn"}`), classify.RetryBackoff, "bad_response", 0, "not JSON"},
		{"two_answers_in_one_name", say(`{"name":"Ulm","name":"Bonn"}`), classify.RetryBackoff, "bad_response", 0, "not JSON"},
		{"empty_answer", say(""), classify.RetryBackoff, "bad_response", 0, "empty"},
		{"no_content", refuse204, classify.RetryBackoff, "bad_response", 0, "status 204"},
		{"too_large", say(`{"name":"` + strings.Repeat("x", 2000) + `"}`), classify.RetryBackoff, "bad_response", 0, "more than 1000 bytes"},
		{"too_large_once_unpacked", bomb, classify.RetryBackoff, "bad_response", 0, "more than 1000 bytes"},
		{"value_is_missing", say(`{"title":"Ulm"}`), classify.Row, "missing_required", 0, "no /name"},
		{"answer_is_a_list", say(`["Ulm"]`), classify.Row, "missing_required", 0, "no /name"},
		{"redirected_in_circles", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) }, classify.Permanent, "http_redirect", 0, "302"},
	} {
		t.Run(r.name, func(t *testing.T) {
			server := serve(t, r.answer)
			steps := make1(t, stepOf(server.URL+"/place?key="+secret, func(s *config.EnrichStep) {
				s.HTTP.MaxResponseBytes = 1000
			}))
			f := parcel()
			before := properties(t, f)
			failure := wantFailure(t, steps.Apply(t.Context(), f, ""), r.class, r.code, r.says)
			if failure.RetryAfter != r.after {
				t.Errorf("the failure asks for %v, want %v", failure.RetryAfter, r.after)
			}
			if after := properties(t, f); after != before {
				t.Errorf("the feature was changed to %s", after)
			}
		})
	}
}

func refuse204(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

// wantFailure classifies err, once, as the loop does.
func wantFailure(t *testing.T, err error, class classify.Class, code classify.Code, says string) classify.Failure {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	f := classify.Of(err)
	if f.Class != class || f.Code != code || f.Stage != classify.StageEnrich {
		t.Errorf("%v\nis %s, %s at %s; want %s, %s", err, f.Class, f.Code, f.Stage, class, code)
	}
	if request, response := exchange(err); strings.Contains(request+response, secret) {
		t.Errorf("a secret in %s, %s", request, response)
	}
	if text := err.Error(); !strings.HasPrefix(text, "enrich step place: ") || !strings.Contains(text, says) ||
		strings.Contains(text, secret) || strings.Contains(text, "\n") {
		t.Errorf("message %q, want it to say %q", text, says)
	}
	return f
}

// TestApply_unfit_feature proves that nothing is sent for a feature that the URL cannot be made for.
func TestApply_unfit_feature(t *testing.T) {
	for _, c := range []struct {
		name, template string
		code           classify.Code
		says           string
	}{
		{"absent", "/{properties.nowhere}", "missing_required", "no properties.nowhere"},
		{"null", "/{properties.none}", "missing_required", "no properties.none"},
		{"empty", "/{properties.empty}", "missing_required", "no properties.empty"},
		{"object", "/{properties.owner}", "wrong_type", "object"},
		{"dots_as_a_segment", "/place/{properties.up}/secret", "coercion_failed", ".."},
		{"too_long", "/?q={properties.long}", "limit_exceeded", "8192"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
			err := make1(t, stepOf(server.URL+c.template, nil)).Apply(t.Context(), parcel(), "")
			wantFailure(t, err, classify.Row, c.code, c.says)
		})
	}
	t.Run("no_id", func(t *testing.T) {
		err := make1(t, stepOf("http://127.0.0.1:1/{id}", nil)).Apply(t.Context(), &transform.Feature{}, "")
		wantFailure(t, err, classify.Row, classify.CodeMissingRequired, "no id")
	})
}

// Every way in which a real server fails, over a real connection: what it is taken for, that the breaker counts it or not,
// and that a good mirror makes it good.
func TestMisbehave_S4_3_every_way_to_fail(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	for _, c := range []struct {
		name   string
		answer misbehave.Answer
		class  classify.Class
		code   classify.Code
		counts bool // by the breaker
	}{
		{"reset_in_the_middle", misbehave.Answer{Reset: true}, classify.RetryBackoff, classify.CodeConnectionReset, true},
		{"closed_without_a_byte", misbehave.Answer{Raw: " "}, classify.RetryBackoff, classify.CodeNetwork, true},
		{"half_a_head", misbehave.Answer{Raw: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n"}, classify.RetryBackoff, classify.CodeConnectionReset, true},
		{"half_a_line_of_the_head", misbehave.Answer{Raw: "HTTP/1.1 200 OK\r\nContent-Le"}, classify.RetryBackoff, classify.CodeNetwork, true},
		{"half_an_answer", misbehave.Answer{Raw: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"name\":\"U"}, classify.RetryBackoff, classify.CodeConnectionReset, true},
		{"half_a_chunk", misbehave.Answer{Raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"name\":\"U"}, classify.RetryBackoff, classify.CodeConnectionReset, true},
		{"length_too_long", misbehave.Answer{Raw: "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"name\":\"Ulm\"}"}, classify.RetryBackoff, classify.CodeConnectionReset, true},
		{"length_too_short", misbehave.Answer{Raw: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{\"name\":\"Ulm\"}"}, classify.RetryBackoff, classify.CodeBadResponse, false},
		{"length_that_is_no_number", misbehave.Answer{Raw: "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{}"}, classify.RetryBackoff, classify.CodeNetwork, true},
		{"not_HTTP", misbehave.Answer{Raw: "SSH-2.0-OpenSSH_9.2\r\n"}, classify.RetryBackoff, classify.CodeNetwork, true},
		{"slow_loris", misbehave.Answer{Status: 200, Drip: 30 * time.Millisecond}, classify.RetryBackoff, classify.CodeTimeout, true},
		{"stuck", misbehave.Answer{Status: 200, Hold: stuck}, classify.RetryBackoff, classify.CodeTimeout, true},
		{"503", misbehave.Status(503), classify.RetryBackoff, classify.CodeHTTPUnavailable, true},
		{"429_in_seconds", misbehave.Answer{Status: 429, RetryAfter: "30"}, classify.RetryAfter, classify.CodeHTTPTooManyRequests, false},
		{"429_as_a_date", misbehave.Answer{Status: 429, RetryAfter: time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}, classify.RetryAfter, classify.CodeHTTPTooManyRequests, false},
		{"page_of_a_proxy", misbehave.Answer{Status: 200, Body: "<html>"}, classify.RetryBackoff, classify.CodeBadResponse, false},
		{"gzip_that_is_none", misbehave.Answer{Status: 200, Header: map[string]string{"Content-Encoding": "gzip"}}, classify.RetryBackoff, classify.CodeNetwork, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := misbehave.New(t)
			server.Default(c.answer)
			step := stepOf(server.URL()+"/place?id={id}&key="+secret, func(s *config.EnrichStep) {
				s.HTTP.RetryAfter = config.RetryAfterRecord
				if c.code == classify.CodeTimeout {
					s.HTTP.Timeout = config.Duration(300 * time.Millisecond)
				}
				s.HTTP.Breaker = &config.Breaker{Failures: 2, Window: config.Duration(time.Minute), Cooldown: config.Duration(time.Minute), Successes: 1}
			})
			steps := must.Get(New([]config.EnrichStep{step}, Options{}))(t)
			defer steps.Close()
			f := parcel()
			before := properties(t, f)
			wantFailure(t, steps.Apply(t.Context(), f, ""), c.class, c.code, "/place")
			if after := properties(t, f); after != before {
				t.Errorf("the feature was changed to %s", after)
			}
			again := steps.Apply(t.Context(), parcel(), "")
			if opened := steps.Status()[0].Circuit == breaker.StateOpen; opened != c.counts || isHeld(again) != c.counts {
				t.Errorf("the breaker counts it: %v; %v", opened, again)
			}
			good := misbehave.New(t)
			step.Providers = []config.Provider{{Name: "main", HTTP: step.HTTP}, {Name: "mirror", HTTP: stepOf(good.URL()+"/place?id={id}", nil).HTTP}}
			step.HTTP, step.SetProvider = nil, "by"
			if got := answeredBy(t, make1(t, step)); got != "mirror" {
				t.Errorf("with a mirror: %s", got)
			}
		})
	}
}
