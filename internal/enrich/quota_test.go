package enrich

import (
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// newLedger returns a ledger whose clock the test sets.
func newLedger(t *testing.T) (*QuotaLedger, *time.Time) {
	t.Helper()
	now := quotaClock
	return NewQuotaLedger(time.Hour, func() time.Time { return now }), &now
}

// S2-2: in whatever order requests and answers arrive, the service never refuses a request that was sent after its first
// answer.
func TestQuotaLedger_S2_2_never_over_the_limit(t *testing.T) {
	for seed := range uint64(300) {
		playQuota(t, seed)
	}
}

// answer is an answer in transit.
type answer struct {
	ticket QuotaTicket
	advice QuotaAdvice
}

// playQuota simulates a service with a limit, whose requests and answers arrive in random order.
func playQuota(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	l, now := newLedger(t)
	size, window := 1+random.IntN(20), time.Minute
	left, reset := size, now.Add(window)
	var going []QuotaTicket
	var coming []answer
	served, spoke := 0, false
	for range 3000 {
		*now = now.Add(time.Duration(random.IntN(200)) * time.Millisecond)
		if !now.Before(reset) {
			left, reset = size, now.Add(window)
		}
		switch random.IntN(3) {
		case 0: // the service counts a request
			if len(going) == 0 {
				continue
			}
			i := random.IntN(len(going))
			must.That(t, left != 0, "seed %d: a request was sent with nothing left of %d", seed, size)
			left--
			served++
			// The reset is announced in whole seconds, rounded up, as services do.
			coming = append(coming, answer{going[i], QuotaAdvice{Known: true, Remaining: left, Limit: size, Reset: (reset.Sub(*now) + time.Second - 1).Truncate(time.Second)}})
			going = slices.Delete(going, i, i+1)
		case 1: // an answer arrives
			if len(coming) == 0 {
				continue
			}
			i := random.IntN(len(coming))
			l.Done(coming[i].ticket, coming[i].advice)
			coming = slices.Delete(coming, i, i+1)
			spoke = true
		case 2: // a request is sent; before the first answer only one
			if !spoke && len(going)+len(coming) > 0 {
				continue
			}
			if ticket, wait := l.Take(); wait == 0 {
				going = append(going, ticket)
			}
		}
	}
	expect.That(t, served >= size, "seed %d: only %d requests of %d were sent", seed, served, size)
}

var quotaClock = time.Date(2026, 3, 18, 2, 0, 0, 0, time.UTC)

func quotaHeader(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestReadQuotaAdvice_S2_2(t *testing.T) {
	left := func(n, limit int, reset time.Duration) QuotaAdvice {
		return QuotaAdvice{Known: true, Given: true, Remaining: n, Limit: limit, Reset: reset}
	}
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		want   QuotaAdvice
	}{
		{"nothing", 200, quotaHeader(), QuotaAdvice{}},
		{"draft_list", 200, quotaHeader("RateLimit", `"default";r=50;t=30`, "RateLimit-Policy", `"default";q=100;w=60`), left(50, 100, 30*time.Second)},
		{"draft_list_the_tightest_counts", 200, quotaHeader("RateLimit", `"burst";r=5;t=1, "day";r=3;t=3600`, "RateLimit-Policy", `"burst";q=10;w=1,"day";q=1000;w=86400`), left(3, 1000, time.Hour)},
		{"draft_list_two_are_empty", 200, quotaHeader("RateLimit", `"a";r=0;t=1, "b";r=0;t=9`), left(0, 0, 9*time.Second)},
		{"draft_list_in_two_fields", 200, quotaHeader("RateLimit", `"a";r=7;t=1`, "RateLimit", `"b";r=2;t=9`), left(2, 0, 9*time.Second)},
		{"draft_list_token_as_name", 200, quotaHeader("RateLimit", `a;r=7;t=1`, "RateLimit-Policy", "a;q=8"), left(7, 8, time.Second)},
		{"draft_06_dictionary", 200, quotaHeader("RateLimit", "limit=100, remaining=0, reset=5"), left(0, 100, 5*time.Second)},
		{"draft_05_fields", 200, quotaHeader("RateLimit-Limit", "100, 100;w=60", "RateLimit-Remaining", "4", "RateLimit-Reset", "50"), left(4, 100, 50*time.Second)},
		{"x_reset_in_seconds", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "12", "X-RateLimit-Limit", "60"), left(0, 60, 12*time.Second)},
		{"x_reset_since_1970", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1773799290"), left(0, 0, 90*time.Second)},
		{"x_reset_in_the_past", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1773799100"), left(0, 0, 0)},
		{"x_with_another_hyphen", 200, quotaHeader("X-Rate-Limit-Remaining", "1", "X-Rate-Limit-Reset", "0.5"), left(1, 0, time.Second)},
		{"x_reset_since_1970_with_a_fraction", 200, quotaHeader("X-RateLimit-Remaining", "4.9", "X-RateLimit-Reset", "1773799290.25"), left(4, 0, 91*time.Second)},
		{"x_reset_with_no_fraction", 200, quotaHeader("X-RateLimit-Remaining", "598.0", "X-RateLimit-Reset", "583.0"), left(598, 0, 583*time.Second)},
		{"draft_list_with_a_fraction", 200, quotaHeader("RateLimit", `"a";r=0;t=1.5`), left(0, 0, 2*time.Second)},
		{"draft_06_with_a_fraction", 200, quotaHeader("RateLimit", "limit=1, remaining=0, reset=4.001"), left(0, 1, 5*time.Second)},
		{"draft_before_x", 200, quotaHeader("RateLimit", `"a";r=7;t=1`, "X-RateLimit-Remaining", "0"), left(7, 0, time.Second)},
		{"retry_after_in_seconds", 429, quotaHeader("Retry-After", "7"), QuotaAdvice{Pause: 7 * time.Second, Given: true}},
		{"retry_after_as_a_date", 503, quotaHeader("Retry-After", "Wed, 18 Mar 2026 02:01:00 GMT"), QuotaAdvice{Pause: time.Minute, Given: true}},
		{"retry_after_of_a_success_means_something_else", 202, quotaHeader("Retry-After", "7"), QuotaAdvice{}},
		{"both", 429, quotaHeader("Retry-After", "7", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "9"), QuotaAdvice{Known: true, Given: true, Reset: 9 * time.Second, Pause: 7 * time.Second}},
		{"nonsense_list", 200, quotaHeader("RateLimit", `"a";r=x`), QuotaAdvice{}},
		{"negative", 200, quotaHeader("RateLimit", `"a";r=-1;t=5`), QuotaAdvice{}},
		{"nonsense_fields", 200, quotaHeader("X-RateLimit-Remaining", "many"), QuotaAdvice{}},
		{"inner_list", 200, quotaHeader("RateLimit", `("a" "b");r=1`), QuotaAdvice{}},
		{"absurd_reset", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "9223372036854775807"), left(0, 0, time.Unix(0, math.MaxInt64).Sub(quotaClock))},
		{"reset_in_microseconds", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(quotaClock.Add(30*time.Second).UnixMicro(), 10)), left(0, 0, 30*time.Second)},
		{"reset_in_nanoseconds", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(quotaClock.Add(30*time.Second).UnixNano(), 10)), left(0, 0, 30*time.Second)},
		{"reset_as_a_date", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", quotaClock.Add(30*time.Second).UTC().Format(http.TimeFormat)), left(0, 0, 30*time.Second)},
		{"reset_as_rfc3339", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", quotaClock.Add(30*time.Second).Format(time.RFC3339)), left(0, 0, 30*time.Second)},
		{"reset_in_words", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "soon"), left(0, 0, 0)},
		{"our_clock_is_ahead", 503, quotaHeader("Date", quotaClock.Add(-5*time.Minute).Format(http.TimeFormat), "Retry-After", quotaClock.Add(-4*time.Minute).Format(http.TimeFormat),
			"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(quotaClock.Add(-4*time.Minute).Unix(), 10)), QuotaAdvice{Known: true, Reset: time.Minute, Pause: time.Minute, Given: true}},
		{"reset_in_milliseconds", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(quotaClock.Add(30*time.Second).UnixMilli(), 10)), left(0, 0, 30*time.Second)},
	} {
		expect.Equal(t, ReadQuotaAdvice(c.status, c.header, quotaClock), c.want, c.name)
	}
}

// FuzzReadQuotaAdvice checks that no header results in a number that breaks the ledger.
func FuzzReadQuotaAdvice(f *testing.F) {
	f.Add(`"default";r=50;t=30`, `"default";q=100`, "5", "12")
	f.Add("@", "@", "0", "0")
	f.Add("limit=1, remaining=0, reset=5", "", "0", "1773799290")
	f.Fuzz(func(t *testing.T, limit, policy, left, reset string) {
		a := ReadQuotaAdvice(429, quotaHeader("RateLimit", limit, "RateLimit-Policy", policy, "X-RateLimit-Remaining", left, "X-RateLimit-Reset", reset, "Retry-After", reset), quotaClock)
		expect.That(t, a.Remaining >= 0 && a.Limit >= 0 && a.Reset >= 0 && a.Pause >= 0, "%+v", a)
		l := NewQuotaLedger(time.Hour, func() time.Time { return quotaClock })
		ticket, _ := l.Take()
		l.Done(ticket, a)
		wait := l.Wait()
		expect.That(t, wait >= 0 && wait <= time.Hour, "%+v results in a wait of %v", a, wait)
	})
}

// A cached answer that fails its record is not kept: once the service is fixed, the next record passes.
func TestCache_keeps_no_answer_that_lacks_what_is_required(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := stepOf("http://places/{id}", func(s *config.EnrichStep) {
			s.HTTP.Cache = &config.Cache{TTL: config.Duration(time.Hour), MaxEntries: 10}
		})
		steps := mustSteps(t, step)
		defer steps.Close()
		good := &service{act: answerWith(200)}
		steps.steps[0].providers[0].lookup.(*httpLookup).client.Transport = good
		good.is(body200(`{"title":"half"}`))
		wantFailure(t, steps.Apply(t.Context(), parcel(), ""), classify.Row, classify.CodeMissingRequired, "/name")
		good.is(status(200))
		expect.Do(t, steps.Apply(t.Context(), parcel(), ""), "the service is fixed")
		good.newRequests()
		err := steps.Apply(t.Context(), parcel(), "")
		expect.That(t, err == nil && good.newRequests() == 0, "a complete answer is cached: %v", err)
	})
}

func body200(text string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		answer, err := status(200)(r)
		answer.Body = io.NopCloser(strings.NewReader(text))
		return answer, err
	}
}

// cached returns one step with a cache, and a service that works.
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
		expect.Equal(t, places.newRequests(), 2)
		s := steps.Status()[0]
		expect.That(t, s.Requests[OutcomeAnswered] == 2 && s.Requests[OutcomeCached] == 4, "status %+v", s)
		time.Sleep(11 * time.Minute) //nolint:forbidigo // the time of a bubble
		got := outcome(t.Context(), steps)
		expect.That(t, got == "ok" && places.newRequests() == 1, "%s; an expired answer was not requested again", got)
	})
}

// S4-5: failures are not shared, so an outage uses no more attempts than without a cache. Cached answers are used while
// the service is down.
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
		expect.That(t, deferral(steps.Apply(t.Context(), other, "")) != nil, "the breaker is not open")
		expect.Equal(t, outcome(t.Context(), steps), "ok", "a cached answer")
	})
	synctest.Test(t, func(t *testing.T) {
		steps, places := cached(t, s45(), minutes(10))
		defer steps.Close()
		places.is(later(time.Second, status(503)))
		got := callConcurrently(t, steps, 100)
		expect.That(t, got["http_unavailable"] == 4 && got["deferred"] == 96, "outcomes %v of 100 concurrent equal requests", got)
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
