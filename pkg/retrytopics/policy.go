package retrytopics

import (
	"fmt"
	"math"
	"time"
)

// Strategy says how the delay before the next attempt is computed.
type Strategy string

const (
	// StrategyTiers waits the delay of tier n after attempt n failed, and that of the last tier once there are more
	// attempts than tiers.
	StrategyTiers Strategy = "tiers"
	// StrategyExponential waits min(MaxDelay, BaseDelay·Multiplierⁿ⁻¹) after attempt n failed (S2-1); the record waits in
	// the shortest tier that reaches it.
	StrategyExponential Strategy = "exponential"
)

// Strategies lists every strategy.
func Strategies() []Strategy { return []Strategy{StrategyTiers, StrategyExponential} }

// Tier is one delay topic.
type Tier struct {
	Topic string
	Delay time.Duration // how long a record waits there at the least, unless a shorter due time is set
}

// Policy says how often and when a transient failure is tried again. Its zero value means the defaults of S1-1.
type Policy struct {
	MaxAttempts     int           // attempts in all, the first included. Defaults to 5.
	Strategy        Strategy      // Defaults to StrategyTiers.
	BaseDelay       time.Duration // of StrategyExponential. Defaults to 2 s.
	MaxDelay        time.Duration // of StrategyExponential. Defaults to 60 s.
	Multiplier      float64       // of StrategyExponential. Defaults to 2.
	Jitter          time.Duration // a uniform random share of it is added to every delay. Defaults to 1 s; -1 means none.
	RetryAfterLimit time.Duration // a longer Retry-After is cut to it. Defaults to 1 h.
}

func (p Policy) withDefaults() Policy {
	p.MaxAttempts = orDefault(p.MaxAttempts, 5)
	p.Strategy = orDefault(p.Strategy, StrategyTiers)
	p.BaseDelay = orDefault(p.BaseDelay, 2*time.Second)
	p.MaxDelay = orDefault(p.MaxDelay, 60*time.Second)
	p.Multiplier = orDefault(p.Multiplier, 2)
	p.Jitter = orDefault(p.Jitter, time.Second)
	p.RetryAfterLimit = orDefault(p.RetryAfterLimit, time.Hour)
	return p
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

func (p Policy) faults() []error {
	var faults []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf("policy: "+format, args...))
		}
	}
	add(p.MaxAttempts < 1, "MaxAttempts is %d, want at least 1", p.MaxAttempts)
	add(p.Strategy != StrategyTiers && p.Strategy != StrategyExponential, "Strategy %q is none of %v", p.Strategy, Strategies())
	add(p.BaseDelay <= 0, "BaseDelay is %v, want more than 0", p.BaseDelay)
	add(p.MaxDelay < p.BaseDelay, "MaxDelay %v is less than BaseDelay %v", p.MaxDelay, p.BaseDelay)
	add(p.Multiplier < 1 || math.IsInf(p.Multiplier, 0) || math.IsNaN(p.Multiplier), "Multiplier is %v, want a number from 1", p.Multiplier)
	add(p.Jitter < -1, "Jitter is %v, want 0 or more, or -1 for none", p.Jitter)
	add(p.RetryAfterLimit < 0, "RetryAfterLimit is %v, want more than 0", p.RetryAfterLimit)
	return faults
}

// delay gives the wait after attempt n (from 1) failed, without jitter.
func (p Policy) delay(attempt int, tiers []Tier) time.Duration {
	if p.Strategy == StrategyTiers {
		return tiers[min(attempt, len(tiers))-1].Delay
	}
	d := float64(p.BaseDelay) * math.Pow(p.Multiplier, float64(attempt-1))
	if d >= float64(p.MaxDelay) { // also when the power overflowed
		return p.MaxDelay
	}
	return time.Duration(d)
}

// jitter gives the random part that is added to a delay; uniform returns numbers in [0, 1).
func (p Policy) jitter(uniform func() float64) time.Duration {
	if p.Jitter <= 0 {
		return 0
	}
	return time.Duration(uniform() * float64(p.Jitter))
}

// tierFor gives the index of the shortest tier whose delay is at least d, or else the last one.
func tierFor(d time.Duration, tiers []Tier) int {
	for i, t := range tiers {
		if t.Delay >= d {
			return i
		}
	}
	return len(tiers) - 1
}
