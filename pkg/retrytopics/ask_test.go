package retrytopics_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

var errSlow = errors.New("a cause that nobody knows")

// What a handler says of its own error counts over what the table says, and the error stays what it was.
func TestMarks_S4_2(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		class classify.Class
		after time.Duration
	}{
		"retry":                      {retrytopics.Retry(errSlow), classify.RetryBackoff, 0},
		"retry after":                {retrytopics.RetryAfter(time.Minute, errSlow), classify.RetryAfter, time.Minute},
		"retry after nothing":        {retrytopics.RetryAfter(-time.Minute, errSlow), classify.RetryAfter, 0},
		"reject":                     {retrytopics.Reject(errSlow), classify.Permanent, 0},
		"reject what is transient":   {retrytopics.Reject(errors.Join(errSlow, &classify.HTTPError{Status: 503})), classify.Permanent, 0},
		"reject over retry after":    {retrytopics.Reject(retrytopics.RetryAfter(time.Minute, errSlow)), classify.Permanent, 0},
		"retry after over an answer": {retrytopics.RetryAfter(time.Minute, errors.Join(errSlow, &classify.HTTPError{Status: 429, RetryAfter: time.Second})), classify.RetryAfter, time.Minute},
	} {
		f := classify.Of(c.err)
		expect.That(t, f.Class == c.class && f.RetryAfter == c.after && f.Firm == (c.after > 0) && errors.Is(c.err, errSlow), "%s: got %+v", name, f)
	}
	for _, err := range []error{retrytopics.Retry(nil), retrytopics.RetryAfter(time.Second, nil), retrytopics.Reject(nil)} {
		expect.That(t, err == nil, "the mark of no error is %v", err)
	}
}

// A rule may refuse what the program wants retried later. It may not hurry it.
func TestMarks_S4_2_aRuleHurriesNothing(t *testing.T) {
	t.Parallel()
	for class, want := range map[classify.Class]classify.Class{classify.RetryNow: classify.RetryAfter, classify.Permanent: classify.Permanent} {
		c := classify.New(classify.Options{Rules: []classify.Rule{{Code: classify.CodeUnknown, Class: class}}})
		f := c.Of(retrytopics.RetryAfter(time.Minute, errSlow))
		expect.That(t, f.Class == want, "rule %s: got %+v", class, f)
	}
}

// Neither the longest tier nor the policy's limit makes a RetryAfter shorter.
func TestDecide_S4_4_retryAfterIsNeverEarly(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC)
	tiers := []policy.Tier{{Topic: "2s", Delay: 2 * time.Second}, {Topic: "8s", Delay: 8 * time.Second}}
	policies := policy.Policies{Default: policy.Policy{RetryAfterLimit: time.Minute}}
	for d, tier := range map[time.Duration]int{1: 0, 2 * time.Second: 0, 2*time.Second + 1: 1, 9 * time.Second: 1, 300 * time.Hour: 1, math.MaxInt64: 1} {
		got := policy.Decide(policies, tiers, policy.Tried{Attempts: 1}, classify.Of(retrytopics.RetryAfter(d, errSlow)), now, func() float64 { return 0.5 })
		expect.That(t, got.Outcome == policy.OutcomeRetried && got.Tier == tier && !got.Due.Before(now.Add(d)), "%v: got %+v", d, got)
		again, due := policy.Surface(tiers, got.Due, got.Due.Add(-time.Millisecond))
		expect.That(t, !due && again.Due == got.Due, "%v: surfaces early, or is due at another time: %+v", d, again)
	}
}

// An error that nobody knows is retried unless the program says otherwise; so a newcomer's first error is not a dead letter.
func TestEngine_S4_2_unknownErrors(t *testing.T) {
	t.Parallel()
	for unknown, want := range map[classify.Class]int{"": 2, classify.RetryBackoff: 2, classify.Permanent: 1} {
		t.Run(string(unknown), func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			b.produce(events(1)...)
			attempts, mu := 0, sync.Mutex{}
			cfg := b.config(func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				if attempts++; attempts == 1 {
					return retrytopics.Result{}, errors.New("x")
				}
				return retrytopics.Result{}, nil
			})
			cfg.Unknown = unknown
			b.drain(b.engine(cfg))
			dead := len(b.read(source + ".dlq"))
			expect.That(t, attempts == want && dead == 2-want, "%d attempts and %d dead letters", attempts, dead)
		})
	}
}

// A handler's mistake is no outage: attempts would not change it.
func TestEngine_S4_2_aResultThatIsRefusedIsNotRetried(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.produce(events(1)...)
	cfg := b.config(func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{Close: "finished"}, nil
	})
	cfg.Unknown = classify.RetryBackoff
	b.drain(b.engine(cfg))
	deadLetters := b.read(source + ".dlq")
	expect.That(t, len(deadLetters) == 1 && headerOf(deadLetters[0], header.KeyAttempt) == "1", "dead letters %v", deadLetters)
}
