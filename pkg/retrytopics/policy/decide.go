package policy

import (
	"math"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Decision says what happens to a record after an attempt, and why.
type Decision struct {
	Outcome Outcome
	Reason  Reason
	Tier    int       // index of the tier when the outcome is OutcomeRetried or OutcomeParked
	Due     time.Time // not before this time, whole milliseconds, when the outcome is OutcomeRetried or OutcomeParked
}

// Decide chooses what happens after a failed attempt. It is pure: the same arguments give the same decision; uniform
// returns numbers in [0, 1).
//
// A transient failure waits as the policy of its category says, or as long as the failure itself asked for (Retry-After,
// cut to the policy's limit unless the failure is firm), in the shortest tier whose delay is at least that long. Jitter is only ever added to what a
// tier, a fixed or exponential delay or the other side said; the strategies that draw their delays add nothing else.
// After MaxAttempts of the category, counted over all attempts of the record, and for every failure that will not pass,
// the record is dead-lettered.
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

// later adds two waits, neither of them negative, without overflow.
func later(delay, added time.Duration) time.Duration {
	return delay + min(added, math.MaxInt64-delay)
}

// after gives the delay after a failure, the jitter that is added to it, and who chose it.
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

// Surface decides about a record that comes up in a tier: it runs when its due time has come (ok is true), and waits on
// in the shortest tier that reaches the rest of its delay when it has not. Parking is not an attempt.
func Surface(tiers []Tier, due, now time.Time) (d Decision, ok bool) {
	if !now.Before(due) {
		return Decision{}, true
	}
	return Decision{Outcome: OutcomeParked, Reason: ReasonNotDue, Tier: tierFor(due.Sub(now), tiers), Due: due}, false
}

// Wake gives the time at which a record that was taken from a tier surfaces: when it is due. One that is due later than
// its tier's delay allows surfaces anyway, to be parked at the tier's end again (see Surface), so that it does not stay in
// the way of the commit.
func Wake(p Policies, tier Tier, due, taken time.Time) time.Time {
	if latest := taken.Add(tier.Delay + p.longestJitter() + time.Second); due.After(latest) {
		return latest
	}
	return due
}
