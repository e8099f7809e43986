package enrich

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// says answers with headers.
func says(code int, pairs ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		answer, err := status(code)(r)
		for i := 0; i < len(pairs); i += 2 {
			answer.Header.Set(pairs[i], pairs[i+1])
		}
		return answer, err
	}
}

// S2-2: once a service says that nothing is left, nothing is sent until its reset, and no attempt is spent.
func TestQuota_S2_2_is_obeyed_before_it_is_hit(t *testing.T) {
	for name, headers := range map[string][]string{
		"X-RateLimit": {"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "20"},
		"RateLimit":   {"RateLimit", `"day";r=0;t=20`, "RateLimit-Policy", `"day";q=100`},
		"draft-06":    {"RateLimit", "limit=100, remaining=0, reset=20"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps, services := guarded(t, Options{}, nil)
				services[0].is(says(200, headers...))
				if got := outcome(t.Context(), steps); got != "ok" {
					t.Fatal(got)
				}
				wantHold(t, steps, 20*time.Second, "rate limit")
				if got := meet(t, steps, 100); got["hold"] != 100 || services[0].asked() != 1 {
					t.Errorf("outcomes %v", got)
				}
				if s := steps.Status()[0]; !s.QuotaKnown || s.QuotaLeft != 0 || !s.HeldUntil.Equal(time.Now().Add(20*time.Second)) {
					t.Errorf("status %+v", s)
				}
				time.Sleep(20 * time.Second) //nolint:forbidigo // the time of a bubble
				services[0].is(status(200))
				expect.Equal(t, outcome(t.Context(), steps), "ok")
			})
		})
	}
}

// S1-6: the record that is refused waits as the service says; those under way and those that follow are held and spend
// no attempt.
func TestQuota_S1_6_retry_after_concerns_the_service(t *testing.T) {
	for _, code := range []int{429, 503} {
		synctest.Test(t, func(t *testing.T) {
			steps, services := guarded(t, Options{}, nil)
			services[0].is(later(time.Second, says(code, "Retry-After", "30")))
			got := meet(t, steps, 40)
			expect.That(t, got["hold"] == 39 && services[0].asked() == 40, "%d: outcomes %v of 40 side by side", code, got)
			if got := meet(t, steps, 40); got["hold"] != 40 || services[0].asked() != 0 {
				t.Errorf("%d: outcomes %v of those that follow", code, got)
			}
			time.Sleep(30 * time.Second) //nolint:forbidigo // the time of a bubble
			services[0].is(status(200))
			if got := meet(t, steps, 40); got["ok"] != 40 {
				t.Errorf("%d: outcomes %v afterwards", code, got)
			}
		})
	}
}

func TestQuota_retry_after_of_one_record(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps, services := guarded(t, Options{}, nil)
		steps.steps[0].providers[0].lookup.(*httpLookup).pauses = false
		services[0].is(says(429, "Retry-After", "30"))
		for range 3 {
			f := classify.Of(steps.Apply(t.Context(), parcel(), ""))
			expect.That(t, f.Class == classify.RetryAfter && f.RetryAfter == 30*time.Second, "got %s after %v", f.Class, f.RetryAfter)
		}
	})
}

// The client's own rate is kept; whoever would wait longer than a request may take is held.
func TestRate_is_kept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := stepOf("http://places/{id}", func(s *config.EnrichStep) {
			s.Name, s.HTTP.MaxConnections, s.HTTP.Timeout = "a", 1000, config.Duration(2*time.Second)
			s.HTTP.Rate = &config.Rate{PerSecond: 10, Burst: 5}
		})
		steps := must.Get(New([]config.EnrichStep{c}, Options{}))(t)
		places := &service{act: status(200)}
		steps.steps[0].providers[0].lookup.(*httpLookup).client.Transport = places
		began := time.Now()
		got := meet(t, steps, 100)
		took := time.Since(began)
		expect.That(t, got["ok"] == 25 && got["hold"] == 75 && took == 2*time.Second, "%v in %v, want 5 at once and 10 a second for 2 s", got, took)
		expect.Equal(t, places.asked(), 25)
	})
}

func TestPool_waiting_ends_with_the_context(t *testing.T) {
	steps := make1(t, stepOf("http://127.0.0.1:1/", func(s *config.EnrichStep) { s.HTTP.MaxConnections = 1 }))
	steps.steps[0].providers[0].turns <- struct{}{} // somebody else has the only connection
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantFailure(t, steps.Apply(ctx, parcel(), ""), classify.RetryBackoff, classify.CodeCanceled, "wait for one of 1 connections")
}
