package enrich

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// chain makes one step with a provider for each breaker, each with a service of its own that names itself.
func chain(t *testing.T, o Options, breakers ...*config.Breaker) (*Steps, []*service) {
	t.Helper()
	c := config.EnrichStep{Name: "a", Set: map[string]string{"name": "/name"}, SetProvider: "by", Required: true, Retries: 3}
	for i, b := range breakers {
		c.Providers = append(c.Providers, config.Provider{Name: fmt.Sprintf("p%d", i), HTTP: &config.HTTPLookup{
			URL: fmt.Sprintf("http://p%d/{id}", i), Method: config.HTTPMethodGet, Timeout: config.Duration(time.Minute),
			MaxConnections: 64, MaxResponseBytes: 1 << 20, Breaker: b,
		}})
	}
	steps := must.Get(New([]config.EnrichStep{c}, o))(t)
	services := make([]*service, len(breakers))
	for i := range services {
		services[i] = &service{act: status(200)}
		steps.steps[0].providers[i].lookup.(*httpLookup).client.Transport = services[i]
	}
	return steps, services
}

// answeredBy runs the steps once and says who answered, or how it failed.
func answeredBy(t *testing.T, steps *Steps) string {
	t.Helper()
	f := parcel()
	err := steps.Apply(t.Context(), f, "")
	if by, ok := f.Property("by"); ok {
		return by.Text()
	}
	if isHeld(err) {
		return "hold"
	}
	return string(classify.Of(err).Code)
}

// S4-5: while the first is down, the fallback answers, and nobody is held until both are down; then the one that may be
// asked first is asked first.
func TestFallback_S4_5_before_the_outage_mode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps, services := chain(t, Options{}, s35(), s45())
		services[0].is(status(503))
		for n := range 20 {
			got := answeredBy(t, steps)
			must.That(t, got == "p1", "record %d: %s", n, got)
		}
		expect.Equal(t, services[0].asked(), 3, "the first was asked")
		s := steps.Status()
		expect.That(t, s[0].Fallbacks == 0 && s[1].Fallbacks == 20, "status %+v", s)
		services[1].is(status(503))
		for n := range 5 {
			got := answeredBy(t, steps)
			must.That(t, got == "hold", "record %d: %s; with the first down a failing fallback spends no attempt", n, got)
		}
		held := isHold(steps.Apply(t.Context(), parcel(), ""))
		expect.That(t, held != nil && held.Dependency == "a" && held.RetryAt.Equal(time.Now().Add(30*time.Second)), "got %+v, want a hold until the second may be asked", held)
		time.Sleep(30 * time.Second) //nolint:forbidigo // the time of a bubble
		services[1].is(status(200))
		expect.Equal(t, answeredBy(t, steps), "p1", "the probe of the second")
		time.Sleep(5 * time.Minute) //nolint:forbidigo // the time of a bubble
		services[0].is(status(200))
		expect.Equal(t, answeredBy(t, steps), "p0", "once the first is back")
	})
}

// A feature that a fallback cannot be asked for is no failure as long as the first can be.
func TestFallback_cannot_be_asked_for_this_feature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps, services := chain(t, Options{}, nil, nil)
		nowhere := must.Get(parseTemplate("http://p1/{properties.nowhere}"))(t)
		steps.steps[0].providers[1].lookup.(*httpLookup).target = nowhere.fill
		expect.Equal(t, answeredBy(t, steps), "p0")
		services[0].is(status(503))
		expect.Equal(t, answeredBy(t, steps), "http_unavailable")
	})
}

// S3-4: a step that collided is asked again at once; the steps before it are not, and the record's attempt is one.
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
		first, second := services[0].asked(), services[1].asked()
		expect.That(t, first == 1 && second == 3, "the first step was asked %d times, the second %d", first, second)
		services[1].is(broken(conflict))
		err := steps.Apply(t.Context(), parcel(), "")
		f := classify.Of(err)
		expect.That(t, f.Class == classify.RetryBackoff && f.Code == classify.CodeDBConflict && services[1].asked() == 4,
			"got %s, %s: what still collides is left to the tiers", f.Class, f.Code)
	})
}

// sqlError is an error with an SQLSTATE, as drivers have it.
type sqlError string

func (e sqlError) Error() string    { return "SQLSTATE " + string(e) }
func (e sqlError) SQLState() string { return string(e) }
