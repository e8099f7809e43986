package policy

import (
	"errors"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/closed"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

var (
	defaultTiers = []Tier{{"f.retry-2s", 2 * time.Second}, {"f.retry-8s", 8 * time.Second}, {"f.retry-60s", time.Minute}}
	noon         = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
)

func half() float64 { return 0.5 }

func transient(after time.Duration) classify.Failure {
	return classify.Failure{Class: classify.RetryBackoff, Level: classify.LevelTransient, RetryAfter: after, Err: errors.New("x")}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	noJitter := Policy{Jitter: -1}
	exponential := Policy{Strategy: StrategyExponential, Jitter: -1}
	for _, c := range []struct {
		name    string
		policy  Policy
		attempt int
		failure classify.Failure
		want    Decision
		after   time.Duration
	}{
		{"C-2 first failure waits in the first tier", noJitter, 1, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 0}, 2 * time.Second},
		{"C-2 second failure waits in the second tier", noJitter, 2, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 1}, 8 * time.Second},
		{"C-2 more attempts than tiers stay in the last", noJitter, 4, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 2}, time.Minute},
		{"S1-1 the fifth attempt is the last", noJitter, 5, transient(0), Decision{Outcome: OutcomeDeadLettered, Reason: ReasonExhausted}, 0},
		{"S1-1 jitter is added", Policy{}, 1, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 0}, 2500 * time.Millisecond},
		{"S1-6 Retry-After overrides the delay, in the shortest tier that reaches it", noJitter, 1, transient(5 * time.Second), Decision{Outcome: OutcomeRetried, Reason: ReasonRetryAfter, Tier: 1}, 5 * time.Second},
		{"S1-6 Retry-After shorter than every tier", noJitter, 3, transient(time.Second), Decision{Outcome: OutcomeRetried, Reason: ReasonRetryAfter, Tier: 0}, time.Second},
		{"S1-6 Retry-After beyond the longest tier waits there", noJitter, 1, transient(5 * time.Minute), Decision{Outcome: OutcomeRetried, Reason: ReasonRetryAfter, Tier: 2}, 5 * time.Minute},
		{"S1-6 an absurd Retry-After is cut", noJitter, 1, transient(1000 * time.Hour), Decision{Outcome: OutcomeRetried, Reason: ReasonRetryAfterCapped, Tier: 2}, time.Hour},
		{"S2-1 exponential, first", exponential, 1, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 0}, 2 * time.Second},
		{"S2-1 exponential, second", exponential, 2, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 1}, 4 * time.Second},
		{"S2-1 exponential, fourth", exponential, 4, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 2}, 16 * time.Second},
		{"S2-1 exponential is capped, also when the power overflows", Policy{Strategy: StrategyExponential, Jitter: -1, MaxAttempts: 5000}, 4000, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 2}, time.Minute},
		{"C-3 permanent", noJitter, 1, classify.Failure{Class: classify.Permanent, Level: classify.LevelPermanent}, Decision{Outcome: OutcomeDeadLettered, Reason: ReasonPermanent}, 0},
		{"C-3 row", noJitter, 1, classify.Failure{Class: classify.Row, Level: classify.LevelRow}, Decision{Outcome: OutcomeDeadLettered, Reason: ReasonRow}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.after > 0 {
				c.want.Due = noon.Add(c.after)
			}
			got := Decide(Policies{Default: c.policy}, defaultTiers, Tried{Attempts: c.attempt}, c.failure, noon, half)
			expect.That(t, got == c.want, "got  %+v\nwant %+v", got, c.want)
		})
	}
}

func TestSurfaceParksWhatIsNotDue(t *testing.T) {
	t.Parallel()
	_, ok := Surface(defaultTiers, noon, noon)
	expect.That(t, ok, "a record does not run at its due time")
	d, ok := Surface(defaultTiers, noon.Add(3*time.Second), noon)
	want := Decision{Outcome: OutcomeParked, Reason: ReasonNotDue, Tier: 1, Due: noon.Add(3 * time.Second)}
	expect.That(t, !ok && d == want, "got %+v, %v; want %+v", d, ok, want)
}

// The due time is written with milliseconds; rounding it down would let an attempt begin early.
func TestDueTimeIsNeverRoundedDown(t *testing.T) {
	t.Parallel()
	now := noon.Add(123456 * time.Nanosecond)
	d := Decide(Policies{Default: Policy{Jitter: -1}}, defaultTiers, Tried{Attempts: 1}, transient(0), now, half)
	if d.Due.Before(now.Add(2 * time.Second)) {
		t.Errorf("due %v lies before %v", d.Due, now.Add(2*time.Second))
	}
	expect.Equal(t, header.FormatTime(now), "2026-07-01T12:00:00.001Z", "FormatTime gave")
}

func TestLists_areClosed(t *testing.T) {
	closed.Check(t, closed.Of(Outcomes()), closed.Of(Reasons()))
}
