package enrich

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// A refusal without Retry-After whose rate limit says when there is more: the refused record waits until then, also where
// another instance, which knows nothing of the limit, is the next to try it (S2-2).
func TestApply_S2_2_the_reset_of_a_limit_is_when_the_refused_record_comes_back(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		say    func(http.Header)
		want   time.Duration
	}{
		"epoch":                    {429, limits("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(clock.Add(30*time.Second).Unix(), 10)), 30 * time.Second},
		"seconds":                  {429, limits("RateLimit", `"day";r=0;t=45`), 45 * time.Second},
		"retry_after_counts_first": {429, limits("Retry-After", "7", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "30"), 7 * time.Second},
		"there_are_some_left":      {429, limits("X-RateLimit-Remaining", "3", "X-RateLimit-Reset", "30"), 0},
		"milliseconds":             {429, limits("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(clock.Add(30*time.Second).UnixMilli(), 10)), 30 * time.Second},
		"of_an_outage":             {503, limits("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "30"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				c.say(w.Header())
				w.WriteHeader(c.status)
			})
			step := stepOf(server.URL, func(s *config.EnrichStep) { s.HTTP.RetryAfter = config.RetryAfterRecord })
			err := make1(t, step).Apply(t.Context(), parcel(), "")
			if got := classify.Of(err).RetryAfter; got != c.want {
				t.Errorf("the record comes back after %v, want %v: %v", got, c.want, err)
			}
		})
	}
}

func limits(pairs ...string) func(http.Header) {
	return func(h http.Header) {
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
	}
}

// A cached answer that fails its record is no answer to keep: once the service is fixed, the next record passes.
func TestCache_keeps_no_answer_that_lacks_what_is_required(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := stepOf("http://places/{id}", func(s *config.EnrichStep) {
			s.HTTP.Cache = &config.Cache{TTL: config.Duration(time.Hour), MaxEntries: 10}
		})
		steps := make1(t, step)
		defer steps.Close()
		good := &service{act: says(200)}
		steps.steps[0].providers[0].lookup.(*httpLookup).client.Transport = good
		good.is(body200(`{"title":"half"}`))
		wantFailure(t, steps.Apply(t.Context(), parcel(), ""), classify.Row, classify.CodeMissingRequired, "/name")
		good.is(status(200))
		if err := steps.Apply(t.Context(), parcel(), ""); err != nil {
			t.Errorf("the service is fixed: %v", err)
		}
		good.asked()
		if err := steps.Apply(t.Context(), parcel(), ""); err != nil || good.asked() != 0 {
			t.Errorf("a whole answer is kept: %v", err)
		}
	})
}

func body200(text string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		answer, err := status(200)(r)
		answer.Body = io.NopCloser(strings.NewReader(text))
		return answer, err
	}
}
