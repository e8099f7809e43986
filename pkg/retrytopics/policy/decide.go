package policy

import (
	"math"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Decision is what happens to a record after an attempt, and why.
type Decision struct {
	Outcome Outcome
	Reason  Reason
	Tier    int       // index of the tier if the outcome is OutcomeRetried or OutcomeParked
	Due     time.Time // earliest time of the next attempt, in whole milliseconds, if the outcome is OutcomeRetried or OutcomeParked
}

// Decide chooses what happens after a failed attempt. It is pure: equal arguments give equal decisions; uniform returns
// numbers in [0, 1).
//
// A transient failure waits for the delay of its category's policy, or for the delay that the failure itself names
// (Retry-After, cut to the policy's limit unless the failure is firm). It waits in the shortest tier whose delay is at
// least that long. Jitter is only added to the delay of a tier, a fixed or exponential delay, or a delay that the other
// side named; strategies that draw their delays add nothing else. After MaxAttempts of the category, counted over all
// attempts of the record, and after every permanent failure, the record is dead-lettered.
func Decide(p Policies, tiers []Tier, tried Tried, f classify.Failure, now time.Time, uniform func() float64) Decision {
	policy := p.For(f.Category)
	switch {
	case !f.Transient() && f.Level == classify.LevelRow:
		return Decision{Outcome: OutcomeDeadLettered, Reason: ReasonRow}
	case !f.Transient():
		return Decision{Outcome: OutcomeDeadLettered, Reason: ReasonPermanent}
	case tried.Attempts >= policy.MaxAttempts:
		return Decision{Outcome: OutcomeDeadLettered, Reason: ReasonExhausted}
	}
	delay, added, reason := policy.after(f, tried, tiers, uniform)
	return Decision{
		Outcome: OutcomeRetried,
		Reason:  reason,
		Tier:    tierFor(delay, tiers),
		Due:     header.RoundUp(now.Add(later(delay, added))),
	}
}

// later adds two non-negative waits without overflow.
func later(delay, added time.Duration) time.Duration {
	return delay + min(added, math.MaxInt64-delay)
}

// after returns the delay after a failure, the jitter to add, and the reason for the delay.
func (p Policy) after(f classify.Failure, tried Tried, tiers []Tier, uniform func() float64) (delay, added time.Duration, reason Reason) {
	switch {
	case f.RetryAfter <= 0:
		delay, added = p.wait(tried, tiers, uniform)
		return delay, added, ReasonTransient
	case f.RetryAfter > p.RetryAfterLimit && !f.Firm:
		return p.RetryAfterLimit, p.jitter(uniform), ReasonRetryAfterCapped
	default:
		return f.RetryAfter, p.jitter(uniform), ReasonRetryAfter
	}
}

// Surface decides about a record that surfaces in a tier. If its due time has come, ok is true and it runs. Otherwise
// it continues to wait, in the shortest tier that covers the rest of its delay. Parking is not an attempt.
func Surface(tiers []Tier, due, now time.Time) (d Decision, ok bool) {
	if !now.Before(due) {
		return Decision{}, true
	}
	return Decision{Outcome: OutcomeParked, Reason: ReasonNotDue, Tier: tierFor(due.Sub(now), tiers), Due: due}, false
}

// Wake returns when a record that was fetched from a tier surfaces: at its due time. A record that is due later than its
// tier's delay allows surfaces earlier, to be parked at the tier's end again (see Surface), so that it does not hold
// back the commit.
func Wake(p Policies, tier Tier, due, taken time.Time) time.Time {
	if latest := taken.Add(tier.Delay + p.longestJitter() + time.Second); due.After(latest) {
		return latest
	}
	return due
}
