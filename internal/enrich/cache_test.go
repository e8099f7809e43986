package enrich

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// cached makes one step with a cache, and a service that works.
func cached(t *testing.T, b *config.Breaker, c config.Cache) (*Steps, *service) {
	t.Helper()
	steps, services := guarded(t, Options{}, b)
	kept := must.Get(newCache(&c))(t)
	steps.steps[0].providers[0].cache = kept
	return steps, services[0]
}

func minutes(n int) config.Cache {
	return config.Cache{TTL: config.Duration(time.Duration(n) * time.Minute), MaxEntries: 100}
}

func TestCache_keeps_an_answer_for_its_time(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps, places := cached(t, nil, minutes(10))
		defer steps.Close()
		for range 5 {
			got := outcome(t.Context(), steps)
			must.That(t, got == "ok", "%v", got)
		}
		other := parcel()
		other.ID = other.Properties[0].Value
		must.Do(t, steps.Apply(t.Context(), other, ""))
		expect.Equal(t, places.asked(), 2)
		s := steps.Status()[0]
		expect.That(t, s.Requests[OutcomeAnswered] == 2 && s.Requests[OutcomeCached] == 4, "status %+v", s)
		time.Sleep(11 * time.Minute) //nolint:forbidigo // the time of a bubble
		got := outcome(t.Context(), steps)
		expect.That(t, got == "ok" && places.asked() == 1, "%s; what is old was not asked again", got)
	})
}

// S4-5: what fails is not shared, so that an outage costs no more attempts than without a cache; what is kept is given
// while the service is down.
func TestCache_S4_5_failures_are_neither_kept_nor_shared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps, places := cached(t, s45(), minutes(10))
		defer steps.Close()
		outcome(t.Context(), steps)
		other := parcel()
		other.ID = other.Properties[0].Value
		places.is(status(503))
		for range 4 {
			expect.Equal(t, classify.Of(steps.Apply(t.Context(), other, "")).Code, classify.CodeHTTPUnavailable, "got code")
		}
		expect.That(t, isHold(steps.Apply(t.Context(), other, "")) != nil, "the breaker is not open")
		expect.Equal(t, outcome(t.Context(), steps), "ok", "what is kept")
	})
	synctest.Test(t, func(t *testing.T) {
		steps, places := cached(t, s45(), minutes(10))
		defer steps.Close()
		places.is(later(time.Second, status(503)))
		got := meet(t, steps, 100)
		expect.That(t, got["http_unavailable"] == 4 && got["hold"] == 96, "outcomes %v of 100 that asked the same at once", got)
	})
}

func TestCache_a_panic_is_the_record_s_own(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps, places := cached(t, s35(), minutes(10))
		defer steps.Close()
		places.is(func(*http.Request) (*http.Response, error) { panic("a bug") })
		expect.Equal(t, classify.Of(steps.Apply(t.Context(), parcel(), "")).Code, classify.CodePanic, "got code")
		places.is(status(200))
		expect.Equal(t, outcome(t.Context(), steps), "ok")
	})
}
