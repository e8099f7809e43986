package retrytopics

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Decision says what happens to a record after an attempt, and why.
type Decision struct {
	Outcome Outcome
	Reason  Reason
	Tier    int       // index of the tier when the outcome is OutcomeRetried or OutcomeParked
	Due     time.Time // not before this time, whole milliseconds, when the outcome is OutcomeRetried or OutcomeParked
}

// Decide chooses what happens after a failed attempt. It is pure: the same arguments give the same decision. attempt is
// the number of attempts made, the failed one included; uniform returns numbers in [0, 1).
//
// A transient failure waits: after attempt n in the way of the policy's strategy, or as long as the failure itself asked
// for (Retry-After, cut to the policy's limit). Jitter is only ever added. After MaxAttempts, and for every failure that
// will not pass, the record is dead-lettered.
func Decide(p Policy, tiers []Tier, attempt int, f classify.Failure, now time.Time, uniform func() float64) Decision {
	switch {
	case !f.Transient() && f.Level == classify.LevelRow:
		return Decision{Outcome: OutcomeDeadLettered, Reason: ReasonRow}
	case !f.Transient():
		return Decision{Outcome: OutcomeDeadLettered, Reason: ReasonPermanent}
	case attempt >= p.MaxAttempts:
		return Decision{Outcome: OutcomeDeadLettered, Reason: ReasonExhausted}
	}
	delay, reason := p.delay(attempt, tiers), ReasonTransient
	if f.RetryAfter > 0 {
		delay, reason = f.RetryAfter, ReasonRetryAfter
		if delay > p.RetryAfterLimit {
			delay, reason = p.RetryAfterLimit, ReasonRetryAfterCapped
		}
	}
	return Decision{
		Outcome: OutcomeRetried,
		Reason:  reason,
		Tier:    tierFor(delay, tiers),
		Due:     ceilMilli(now.Add(delay + p.jitter(uniform))),
	}
}

// Surface decides about a record that comes up in a tier: it runs when its due time has come (ok is true), and waits on
// in the shortest tier that reaches the rest of its delay when it has not. Parking is not an attempt.
func Surface(tiers []Tier, due, now time.Time) (d Decision, ok bool) {
	if !now.Before(due) {
		return Decision{}, true
	}
	return Decision{Outcome: OutcomeParked, Reason: ReasonNotDue, Tier: tierFor(due.Sub(now), tiers), Due: due}, false
}
