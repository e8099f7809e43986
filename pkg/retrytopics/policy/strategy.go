package policy

import (
	"math"
	"time"
)

// Strategy is how the delay before the next attempt is computed. Below, step is min(MaxDelay, BaseDelay·Multiplierⁿ⁻¹)
// after attempt n failed, and random(a, b) is uniform in [a, b).
type Strategy string

const (
	// StrategyTiers waits the delay of tier n after attempt n failed, and that of the last tier if there are more
	// attempts than tiers.
	StrategyTiers Strategy = "tiers"
	// StrategyFixed waits BaseDelay every time. (S4 calls StrategyExponential without jitter "fixed".)
	StrategyFixed Strategy = "fixed"
	// StrategyExponential waits step (S2-1).
	StrategyExponential Strategy = "exponential"
	// StrategyEqualJitter waits step/2 + random(0, step/2) (S4-4).
	StrategyEqualJitter Strategy = "equal_jitter"
	// StrategyFullJitter waits random(0, step) (S3-2, S4-4). It spreads records that failed together the widest.
	StrategyFullJitter Strategy = "full_jitter"
	// StrategyDecorrelatedJitter waits min(MaxDelay, random(BaseDelay, 3·the wait before)) (S4-4); the first wait counts
	// from BaseDelay.
	StrategyDecorrelatedJitter Strategy = "decorrelated_jitter"
	// StrategyProportionalJitter waits step · random(1-Spread, 1+Spread) (S4-4), so up to Spread beyond MaxDelay.
	StrategyProportionalJitter Strategy = "proportional_jitter"
)

// Strategies lists every strategy.
func Strategies() []Strategy {
	return []Strategy{
		StrategyTiers, StrategyFixed, StrategyExponential, StrategyEqualJitter, StrategyFullJitter,
		StrategyDecorrelatedJitter, StrategyProportionalJitter,
	}
}

// draws reports whether the strategy's delays are random. Nothing is then added to them.
func (s Strategy) draws() bool {
	return s == StrategyEqualJitter || s == StrategyFullJitter || s == StrategyDecorrelatedJitter || s == StrategyProportionalJitter
}

// Tried is the history of a record when an attempt at it has failed.
type Tried struct {
	Attempts int // attempts made, the failed one included, from 1
	// LastDelay is how long the record waited before the failed attempt; 0 before the first one. Only
	// StrategyDecorrelatedJitter uses it.
	LastDelay time.Duration
}

// step returns the exponential delay after attempt n failed.
func (p Policy) step(attempt int) time.Duration {
	d := float64(p.BaseDelay) * math.Pow(p.Multiplier, float64(attempt-1))
	if d >= float64(p.MaxDelay) { // also when the power overflowed
		return p.MaxDelay
	}
	return time.Duration(d)
}

// delay returns the wait after a failed attempt by the strategy alone, without Jitter; uniform returns numbers in [0,
// 1).
func (p Policy) delay(tried Tried, tiers []Tier, uniform func() float64) time.Duration {
	step := p.step(tried.Attempts)
	switch p.Strategy {
	case StrategyTiers:
		return tiers[min(tried.Attempts, len(tiers))-1].Delay
	case StrategyFixed:
		return p.BaseDelay
	case StrategyExponential:
		return step
	case StrategyEqualJitter:
		return between(step/2, step, uniform)
	case StrategyFullJitter:
		return between(0, step, uniform)
	case StrategyDecorrelatedJitter:
		return p.decorrelated(tried.LastDelay, uniform)
	case StrategyProportionalJitter:
		least, most := p.spread(step)
		return between(least, most, uniform)
	}
	return step
}

// decorrelated draws from BaseDelay to three times the previous wait. That wait may come from another policy or from
// Retry-After, so it is first brought into this policy's range.
func (p Policy) decorrelated(last time.Duration, uniform func() float64) time.Duration {
	last = min(max(last, p.BaseDelay), p.MaxDelay)
	most := 3 * float64(last)
	if most > math.MaxInt64 {
		most = math.MaxInt64
	}
	return min(p.MaxDelay, between(p.BaseDelay, time.Duration(most), uniform))
}

func (p Policy) spread(step time.Duration) (least, most time.Duration) {
	part := time.Duration(float64(step) * max(p.Spread, 0)) // -1 is none
	return step - part, step + part
}

// between draws from [least, most), or returns most if the range is empty.
func between(least, most time.Duration, uniform func() float64) time.Duration {
	return least + time.Duration(uniform()*float64(most-least))
}

// jitter returns the random part that is added to a delay that the strategy did not draw.
func (p Policy) jitter(uniform func() float64) time.Duration {
	if p.Jitter <= 0 {
		return 0
	}
	return time.Duration(uniform() * float64(p.Jitter))
}

// Bounds returns the shortest and the longest wait that may follow a failed attempt, including Jitter. The policy must
// be complete, as Policies.For returns it.
func (p Policy) Bounds(attempt int, tiers []Tier) (least, most time.Duration) {
	lowest, highest := func() float64 { return 0 }, func() float64 { return 1 }
	tried := Tried{Attempts: attempt, LastDelay: p.longestBefore(attempt)}
	least, most = p.delay(tried, tiers, lowest), p.delay(tried, tiers, highest)
	if !p.Strategy.draws() {
		most += max(p.Jitter, 0)
	}
	return least, most
}

// longestBefore returns the longest wait that decorrelated jitter can have drawn before attempt n.
func (p Policy) longestBefore(attempt int) time.Duration {
	d := float64(p.BaseDelay) * math.Pow(3, float64(attempt-1))
	return time.Duration(min(d, float64(p.MaxDelay)))
}
