package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Tier is one retry topic.
type Tier struct {
	Topic string
	Delay time.Duration // how long a record waits there at least, unless its due time is earlier
}

// Policy sets how often and when a transient failure is retried. The zero value means the defaults of S1-1.
type Policy struct {
	MaxAttempts int           // attempts in all, the first included. Defaults to 5.
	Strategy    Strategy      // Defaults to StrategyTiers.
	BaseDelay   time.Duration // of every strategy but StrategyTiers. Defaults to 2 s.
	MaxDelay    time.Duration // of every strategy but StrategyTiers and StrategyFixed. Defaults to 60 s.
	Multiplier  float64       // from one step to the next. Defaults to 2.
	Spread      float64       // of StrategyProportionalJitter, a share of the step from 0 to 1. Defaults to 0.25; -1 means none.
	// Jitter is the longest time, drawn uniformly from 0, that is added to the delays of strategies that draw nothing
	// themselves, and to every Retry-After. Defaults to 1 s; -1 means none.
	Jitter          time.Duration
	RetryAfterLimit time.Duration // a longer Retry-After is cut to it. Defaults to 1 h.
}

func defaultPolicy() Policy {
	return Policy{
		MaxAttempts: 5, Strategy: StrategyTiers, BaseDelay: 2 * time.Second, MaxDelay: 60 * time.Second, Multiplier: 2,
		Spread: 0.25, Jitter: time.Second, RetryAfterLimit: time.Hour,
	}
}

// WithDefaults returns the policy with the defaults where its own fields are zero.
func (p Policy) WithDefaults() Policy { return p.Over(defaultPolicy()) }

// Over returns the policy with the fields of under where its own are zero.
func (p Policy) Over(under Policy) Policy {
	p.MaxAttempts = cmp.Or(p.MaxAttempts, under.MaxAttempts)
	p.Strategy = cmp.Or(p.Strategy, under.Strategy)
	p.BaseDelay = cmp.Or(p.BaseDelay, under.BaseDelay)
	p.MaxDelay = cmp.Or(p.MaxDelay, under.MaxDelay)
	p.Multiplier = cmp.Or(p.Multiplier, under.Multiplier)
	p.Spread = cmp.Or(p.Spread, under.Spread)
	p.Jitter = cmp.Or(p.Jitter, under.Jitter)
	p.RetryAfterLimit = cmp.Or(p.RetryAfterLimit, under.RetryAfterLimit)
	return p
}

func (p Policy) faults(name string) []error {
	var faults []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(name+": "+format, args...))
		}
	}
	add(p.MaxAttempts < 1, "MaxAttempts is %d, want at least 1", p.MaxAttempts)
	add(!slices.Contains(Strategies(), p.Strategy), "Strategy %q is none of %v", p.Strategy, Strategies())
	add(p.BaseDelay <= 0, "BaseDelay is %v, want more than 0", p.BaseDelay)
	add(p.MaxDelay < p.BaseDelay, "MaxDelay %v is less than BaseDelay %v", p.MaxDelay, p.BaseDelay)
	add(p.Multiplier < 1 || math.IsInf(p.Multiplier, 0) || math.IsNaN(p.Multiplier), "Multiplier is %v, want a number from 1", p.Multiplier)
	add(p.Spread > 1 || p.Spread < 0 && p.Spread != -1 || math.IsNaN(p.Spread), "Spread is %v, want a number from 0 to 1, or -1 for none", p.Spread)
	add(p.Jitter < -1, "Jitter is %v, want 0 or more, or -1 for none", p.Jitter)
	add(p.RetryAfterLimit < 0, "RetryAfterLimit is %v, want more than 0", p.RetryAfterLimit)
	return faults
}

// tierFor returns the index of the shortest tier whose delay is at least d, or the last one.
func tierFor(d time.Duration, tiers []Tier) int {
	for i, t := range tiers {
		if t.Delay >= d {
			return i
		}
	}
	return len(tiers) - 1
}
