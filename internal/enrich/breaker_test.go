package enrich

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// s45 and s35 return the breaker settings of requirements S4-5 and S3-5.
func s45() *config.Breaker {
	return &config.Breaker{Failures: 5, Window: config.Duration(time.Minute), Cooldown: config.Duration(30 * time.Second), Successes: 2}
}

func s35() *config.Breaker {
	return &config.Breaker{Failures: 3, Window: config.Duration(5 * time.Minute), Cooldown: config.Duration(5 * time.Minute), Successes: 1}
}

// wantDeferral applies the steps once and checks that the record is deferred for this long.
func wantDeferral(t *testing.T, steps *Steps, wait time.Duration, cause string) {
	t.Helper()
	deferred := deferral(steps.Apply(t.Context(), parcel(), ""))
	must.That(t, deferred != nil && deferred.Dependency == "a" && deferred.RetryAt.Equal(time.Now().Add(wait)), "got %v, want it deferred for a until %v from now", deferred, wait)
	expect.That(t, (deferred.Err == nil) == (cause == "") && (deferred.Err == nil || strings.Contains(deferred.Err.Error(), cause)), "the cause of the deferral is %v, want %q", deferred.Err, cause)
}

// The presets of both requirements, over a complete outage (S4-5, S3-5).
func TestBreaker_opens_probes_and_closes(t *testing.T) {
	for name, c := range map[string]*config.Breaker{"S4-5_5_in_60s": s45(), "S3-5_3_and_300s": s35()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				steps, services := guarded(t, Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))}, c)
				places, cooldown := services[0], c.Cooldown.Std()
				places.is(status(503))
				for range c.Failures - 1 {
					got := outcome(t.Context(), steps)
					must.That(t, got == "http_unavailable" && openBreakers(steps) == nil, "%s, open %v; a failure before the breaker opens is the record's own", got, openBreakers(steps))
				}
				wantDeferral(t, steps, cooldown, "503 Service Unavailable") // this failure opens the breaker
				places.newRequests()
				for n := range 10 {
					time.Sleep(cooldown / 20) //nolint:forbidigo // the time of a bubble
					wantDeferral(t, steps, cooldown-time.Duration(n+1)*cooldown/20, "")
				}
				time.Sleep(cooldown / 2) //nolint:forbidigo // the time of a bubble
				wantDeferral(t, steps, cooldown, "503 Service Unavailable")
				n := places.newRequests()
				expect.That(t, n == 1 && slices.Equal(openBreakers(steps), []string{"a"}), "%d requests in a cooldown and a probe, open %v", n, openBreakers(steps))
				time.Sleep(cooldown) //nolint:forbidigo // the time of a bubble
				places.is(status(200))
				for range c.Successes {
					expect.That(t, openBreakers(steps) != nil, "closed too early")
					got := outcome(t.Context(), steps)
					must.That(t, got == "ok", "a probe gave %s", got)
				}
				expect.That(t, openBreakers(steps) == nil, "open %v after %d good probes", openBreakers(steps), c.Successes)
				wantLog(t, log.String(), true, false)
			})
		})
	}
}

// wantLog compares circuit_open in the lines of the log (S3-5).
func wantLog(t *testing.T, log string, want ...bool) {
	t.Helper()
	var got []bool
	for line := range strings.Lines(log) {
		var said struct {
			Step  string
			Open  *bool  `json:"circuit_open"`
			Rules string `json:"governance_status"`
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil || said.Step != "a" || said.Open == nil {
			t.Errorf("log line %s: %v", line, err)
			continue
		}
		expect.That(t, (said.Rules == "blocked") == *said.Open, "S3-5: governance is %q in %s", said.Rules, line)
		got = append(got, *said.Open)
	}
	expect.That(t, slices.Equal(got, want), "circuit_open is %v in the log, want %v:\n%s", got, want, log)
}

// callConcurrently applies the steps n times concurrently and counts the outcomes.
func callConcurrently(t *testing.T, steps *Steps, n int) map[string]int {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	outcomes := map[string]int{}
	for range n {
		all.Go(func() {
			got := outcome(t.Context(), steps)
			mu.Lock()
			outcomes[got]++
			mu.Unlock()
		})
	}
	all.Wait()
	return outcomes
}

func TestBreaker_S4_5_one_probe_at_a_time(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps, services := guarded(t, Options{}, s45())
		services[0].is(status(503))
		callConcurrently(t, steps, 5)
		services[0].newRequests()
		services[0].is(later(time.Second, status(503)))
		time.Sleep(30 * time.Second) //nolint:forbidigo // the time of a bubble
		if got := callConcurrently(t, steps, 50); got["deferred"] != 50 || services[0].newRequests() != 1 {
			t.Errorf("outcomes %v of a probe that fails", got)
		}
		services[0].is(later(time.Second, status(200)))
		time.Sleep(30 * time.Second) //nolint:forbidigo // the time of a bubble
		for range 2 {
			got := callConcurrently(t, steps, 50)
			expect.That(t, got["deferred"] == 49 && got["ok"] == 1 && services[0].newRequests() == 1, "outcomes %v of a probe that succeeds", got)
		}
		got := callConcurrently(t, steps, 50)
		expect.That(t, got["ok"] == 50, "outcomes %v once it is closed", got)
	})
}

// A canceled probe has no result, so the next probe may be sent.
func TestBreaker_probe_canceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps, services := guarded(t, Options{}, s35())
		services[0].is(status(503))
		callConcurrently(t, steps, 3)
		time.Sleep(5 * time.Minute) //nolint:forbidigo // the time of a bubble
		services[0].is(hangs)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		got := outcome(ctx, steps)
		expect.That(t, got == "canceled" && len(openBreakers(steps)) == 1, "%s, open %v", got, openBreakers(steps))
		services[0].is(func(*http.Request) (*http.Response, error) { panic("a bug") })
		func() {
			defer func() { _ = recover() }()
			_ = steps.Apply(t.Context(), parcel(), "")
		}()
		services[0].is(status(200))
		got = outcome(t.Context(), steps)
		expect.That(t, got == "ok" && openBreakers(steps) == nil, "%s, open %v", got, openBreakers(steps))
	})
}

// A record that the second step would defer is not sent to the first step. An invalid record is not deferred.
func TestBreaker_of_a_later_step(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps, services := guarded(t, Options{}, nil, s35())
		services[1].is(status(503))
		callConcurrently(t, steps, 3)
		services[0].newRequests()
		deferred := deferral(steps.Apply(t.Context(), parcel(), ""))
		expect.That(t, deferred != nil && deferred.Dependency == "b" && services[0].newRequests() == 0 && slices.Equal(openBreakers(steps), []string{"b"}), "hold %v, open %v", deferred, openBreakers(steps))
		bad := parcel()
		bad.ID = bad.Properties[2].Value // null
		expect.Equal(t, classify.Of(steps.Apply(t.Context(), bad, "")).Code, classify.CodeMissingRequired, "a feature without an id is code")
	})
}

// A starting service or its proxy answers a probe with a page of its own, or with 500. The breaker must not close:
// the deferred records would all use attempts, or become dead letters.
func TestBreaker_a_probe_that_gets_no_answer_does_not_close(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*http.Request) (*http.Response, error)
		probe  string
	}{
		"page_of_a_proxy": {body200("<html>we are back soon"), "bad_response"},
		"terminal_500":    {status(500), "http_server_error"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps, services := guarded(t, Options{}, s35())
				services[0].is(status(503))
				callConcurrently(t, steps, 3)
				services[0].newRequests()
				services[0].is(c.answer)
				time.Sleep(5 * time.Minute) //nolint:forbidigo // the time of a bubble
				if got := outcome(t.Context(), steps); got != c.probe {
					t.Errorf("the probe's own outcome is %s", got) // it must not be deferred: this record alone may be the cause, and another record must probe next
				}
				got := callConcurrently(t, steps, 50)
				expect.That(t, got["deferred"] == 50 && services[0].newRequests() == 1, "outcomes %v after the probe", got)
				services[0].is(status(200))
				time.Sleep(5 * time.Minute) //nolint:forbidigo // the time of a bubble
				if got := outcome(t.Context(), steps); got != "ok" || openBreakers(steps) != nil {
					t.Errorf("the service is back: %s, open %v", got, openBreakers(steps))
				}
			})
		})
	}
}

// However many requests are in progress when the service goes down, only failures-1 of them use an attempt.
func TestBreaker_requests_under_way_become_holds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps, services := guarded(t, Options{}, s45())
		services[0].is(later(time.Second, status(503)))
		got := callConcurrently(t, steps, 200)
		expect.That(t, got["http_unavailable"] == 4 && got["deferred"] == 196, "outcomes %v", got)
		if n := services[0].newRequests(); n > 64+4 { // the first failures, before the breaker opens, free slots for other requests
			t.Errorf("%d requests; those that waited for one of 64 connections must not be sent", n)
		}
	})
}

func TestRetune_S4_5_changesRatesOfStepsThatWork(t *testing.T) {
	step := func(r *config.Rate, b *config.Breaker) []config.EnrichStep {
		return []config.EnrichStep{{Name: "place", HTTP: &config.HTTPLookup{
			MaxResponseBytes: 1, URL: "http://127.0.0.1:1/", Method: "GET", AllowPrivate: true, Timeout: config.Duration(1e9), MaxConnections: 1, Rate: r, Breaker: b,
		}, Set: map[string]string{"name": "/name"}}}
	}
	rule := config.Breaker{Failures: 3, Window: config.Duration(1e9), Cooldown: config.Duration(1e9), Successes: 1}
	steps := must.Get(newSteps(step(&config.Rate{PerSecond: 1, Burst: 2}, &rule), Options{}))(t)
	defer steps.Close()
	steps.Retune(step(&config.Rate{PerSecond: 7, Burst: 9}, &rule))
	l := steps.steps[0].providers[0].limiter
	expect.That(t, l.Limit() == rate.Limit(7) && l.Burst() == 9, "the rate is %v, burst %d", l.Limit(), l.Burst())
	steps.Retune(step(nil, nil))
	l = steps.steps[0].providers[0].limiter
	expect.That(t, l.Limit() == rate.Limit(7), "a configuration without a rate took it away: %v", l.Limit())
}

// chain returns one step with a provider for each breaker. Each provider's service answers with its own name.
func chain(t *testing.T, o Options, breakers ...*config.Breaker) (*Steps, []*service) {
	t.Helper()
	c := config.EnrichStep{Name: "a", Set: map[string]string{"name": "/name"}, SetProvider: "by", Required: true, Retries: 3}
	for i, b := range breakers {
		c.Providers = append(c.Providers, config.Provider{Name: fmt.Sprintf("p%d", i), HTTP: &config.HTTPLookup{
			URL: fmt.Sprintf("http://p%d/{id}", i), Method: config.HTTPMethodGet, Timeout: config.Duration(time.Minute),
			MaxConnections: 64, MaxResponseBytes: 1 << 20, Breaker: b,
		}})
	}
	steps := must.Get(newSteps([]config.EnrichStep{c}, o))(t)
	services := make([]*service, len(breakers))
	for i := range services {
		services[i] = &service{act: status(200)}
		steps.steps[0].providers[i].lookup.(*httpLookup).client.Transport = services[i]
	}
	return steps, services
}

// answeredBy applies the steps once and returns which service answered, or how they failed.
func answeredBy(t *testing.T, steps *Steps) string {
	t.Helper()
	f := parcel()
	err := steps.Apply(t.Context(), f, "")
	if by, ok := f.Property("by"); ok {
		return by.Text()
	}
	if deferral(err) != nil {
		return "deferred"
	}
	return string(classify.Of(err).Code)
}

// S4-5, S2-6: while the first provider is down, the fallback answers. Records are only deferred while both are down; then
// the provider that may be asked earliest is asked first.
func TestFallback_S4_5_before_the_outage_mode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps, services := chain(t, Options{}, s35(), s45())
		services[0].is(status(503))
		for n := range 20 {
			got := answeredBy(t, steps)
			must.That(t, got == "p1", "record %d: %s", n, got)
		}
		expect.Equal(t, services[0].newRequests(), 3, "requests to the first provider")
		s := steps.Status()
		expect.That(t, s[0].Fallbacks == 0 && s[1].Fallbacks == 20, "status %+v", s)
		services[1].is(status(503))
		for n := range 5 {
			got := answeredBy(t, steps)
			must.That(t, got == "deferred", "record %d: %s; with the first down a failing fallback spends no attempt", n, got)
		}
		deferred := deferral(steps.Apply(t.Context(), parcel(), ""))
		expect.That(t, deferred != nil && deferred.Dependency == "a" && deferred.RetryAt.Equal(time.Now().Add(30*time.Second)), "got %+v, want it deferred until the second provider may be asked", deferred)
		time.Sleep(30 * time.Second) //nolint:forbidigo // the time of a bubble
		services[1].is(status(200))
		expect.Equal(t, answeredBy(t, steps), "p1", "the probe of the second")
		time.Sleep(5 * time.Minute) //nolint:forbidigo // the time of a bubble
		services[0].is(status(200))
		expect.Equal(t, answeredBy(t, steps), "p0", "once the first is back")
	})
}

// If the fallback cannot be asked for a feature, this is no failure as long as the first provider can be asked.
func TestFallback_cannot_be_asked_for_this_feature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps, services := chain(t, Options{}, nil, nil)
		nowhere := must.Get(parseAddress("http://p1/{properties.nowhere}"))(t)
		steps.steps[0].providers[1].lookup.(*httpLookup).target = nowhere.fill
		expect.Equal(t, answeredBy(t, steps), "p0")
		services[0].is(status(503))
		expect.Equal(t, answeredBy(t, steps), "http_unavailable")
	})
}

// S3-4: a deadlocked step is retried immediately. Earlier steps are not repeated, and the record has one attempt.
func TestRetry_S3_4_one_stage_alone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conflict := sqlError("40P01")
		steps, services := guarded(t, Options{}, nil, nil)
		for _, step := range steps.steps {
			step.providers[0].retry = immediate(step.providers[0], 3)
		}
		failures := 2
		services[1].is(func(r *http.Request) (*http.Response, error) {
			if failures--; failures >= 0 {
				return nil, conflict
			}
			return status(200)(r)
		})
		expect.Equal(t, outcome(t.Context(), steps), "ok")
		first, second := services[0].newRequests(), services[1].newRequests()
		expect.That(t, first == 1 && second == 3, "%d requests of the first step, %d of the second", first, second)
		services[1].is(broken(conflict))
		err := steps.Apply(t.Context(), parcel(), "")
		f := classify.Of(err)
		expect.That(t, f.Class == classify.RetryBackoff && f.Code == classify.CodeDBConflict && services[1].newRequests() == 4, "got %s, %s: the record must be retried through the tiers", f.Class, f.Code)
	})
}

// sqlError is an error with an SQLSTATE, as drivers return it.
type sqlError string

func (e sqlError) Error() string    { return "SQLSTATE " + string(e) }
func (e sqlError) SQLState() string { return string(e) }
