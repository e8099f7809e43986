package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

var errSlow = errors.New("an unknown cause")

// A handler's mark counts over the classification table, and errors.Is still finds the marked error.
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

// A rule may make an error permanent that the program wants retried. It must not make the retry earlier.
func TestMarks_S4_2_aRuleHurriesNothing(t *testing.T) {
	t.Parallel()
	for class, want := range map[classify.Class]classify.Class{classify.RetryNow: classify.RetryAfter, classify.Permanent: classify.Permanent} {
		c := classify.New(classify.Options{Rules: []classify.Rule{{Code: classify.CodeUnknown, Class: class}}})
		f := c.Of(retrytopics.RetryAfter(time.Minute, errSlow))
		expect.That(t, f.Class == want, "rule %s: got %+v", class, f)
	}
}

// Neither the longest tier nor RetryAfterLimit shortens a RetryAfter.
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

// By default an unknown error is retried, so the first error of a newcomer's handler is not a dead letter.
func TestEngine_S4_2_unknownErrors(t *testing.T) {
	t.Parallel()
	for unknown, want := range map[classify.Class]int{"": 2, classify.RetryBackoff: 2, classify.Permanent: 1} {
		t.Run(string(unknown), func(t *testing.T) {
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

// An invalid answer of a handler is a permanent failure, because another attempt would not change it.
func TestEngine_S4_2_aResultThatIsRefusedIsNotRetried(t *testing.T) {
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

// S2-5: records in tiers and DLQ carry the request and the response of the latest failure only.
func TestEngine_S2_5_lettersSayWhatWasAskedAndAnswered(t *testing.T) {
	b := newBroker(t)
	index := classify.Request{Step: "place", TookMS: 31}
	asked := func(err error) error { return classify.WithRequest(index, err) }
	tries := map[string][]error{
		"k0": {asked(fmt.Errorf("produce: %w", kerr.NotEnoughReplicas)), asked(unavailable)},
		"k1": {asked(unavailable), context.DeadlineExceeded}, // a failure without request and response removes those of the failure before
	}
	cfg := b.config(func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{}, tries[string(r.Key)][r.Attempt-1]
	})
	cfg.Retries.Policy.MaxAttempts = 2
	b.produce(events(2)...)
	b.drain(b.engine(cfg))
	const request = `{"step":"place","method":"GET","url":"http://places","took_ms":31}`
	wanted := map[string][2]string{
		cfg.Retries.Tiers[0].Topic + " k0": {`{"step":"place","took_ms":31}`, `{"kafka_error":19}`},
		cfg.Retries.Tiers[0].Topic + " k1": {request, `{"status":503}`},
		source + ".dlq k0":                 {request, `{"status":503}`},
		source + ".dlq k1":                 {"", ""},
	}
	for _, topic := range []string{cfg.Retries.Tiers[0].Topic, source + ".dlq"} {
		for _, r := range b.read(topic) {
			at := topic + " " + string(r.Key)
			got := [2]string{headerOf(r, header.KeyErrorRequest), headerOf(r, header.KeyErrorResponse)}
			expect.That(t, got == wanted[at], "%s: %q, want %q", at, got, wanted[at])
			delete(wanted, at)
		}
	}
	expect.That(t, len(wanted) <= 0, "nothing was read of %v", wanted)
}

// Several outputs of one record are committed together. Each keeps the identity headers that the handler set; the
// record's identity fills in the others.
func TestEngine_severalOutputsOfOneRecordAreOneDecision(t *testing.T) {
	b := newBroker(t)
	b.produce(events(20)...)
	const parts = 3
	cfg := b.config(func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		result := retrytopics.Result{Identity: retrytopics.Identity{FeatureID: "all", ContentHash: "sha256:all"}}
		for i := range parts {
			out := &kgo.Record{Topic: output, Key: fmt.Appendf(nil, "%s-%d", r.Key, i), Headers: slices.Clone(r.Headers)}
			if i > 0 { // the handler sets no identity for the first output
				out.Headers = append(out.Headers, kgo.RecordHeader{Key: header.KeyFeatureID, Value: fmt.Appendf(nil, "id-%d", i)},
					kgo.RecordHeader{Key: header.KeyContentHash, Value: fmt.Appendf(nil, "sha256:%d", i)},
					kgo.RecordHeader{Key: header.KeyPart, Value: fmt.Appendf(nil, "%d/%d", i, parts)})
			}
			result.Outputs = append(result.Outputs, out)
		}
		if r.Attempt == 1 && string(r.Key) == "k7" {
			return result, unavailable
		}
		return result, nil
	})
	b.drain(b.engine(cfg))
	got := map[string]int{}
	for _, r := range b.read(output) {
		got[string(r.Key)]++
		i := int(r.Key[len(r.Key)-1] - '0')
		id, hash, part := "all", "sha256:all", ""
		if i > 0 {
			id, hash, part = fmt.Sprintf("id-%d", i), fmt.Sprintf("sha256:%d", i), fmt.Sprintf("%d/%d", i, parts)
		}
		if headerOf(r, header.KeyFeatureID) != id || headerOf(r, header.KeyContentHash) != hash || headerOf(r, header.KeyPart) != part ||
			headerOf(r, header.KeySource) == "" || headerOf(r, "ce_id") == "" {
			t.Errorf("output %s has the headers %v", r.Key, r.Headers)
		}
		names := map[string]bool{}
		for _, h := range r.Headers {
			expect.That(t, !names[h.Key], "output %s has %s twice", r.Key, h.Key)
			names[h.Key] = true
		}
	}
	expect.That(t, len(got) == 20*parts, "%d outputs, want %d", len(got), 20*parts)
	for key, n := range got {
		expect.That(t, n == 1, "%s is there %d times", key, n)
	}
}
