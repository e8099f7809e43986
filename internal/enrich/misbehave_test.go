package enrich

import (
	"net/http"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

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
