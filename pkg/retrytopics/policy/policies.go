package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Policies has the retry policy of every category of failures (S3-3). The zero value means the defaults.
type Policies struct {
	// Default is the policy of each category without one of its own.
	Default Policy
	// ByCategory has the policies of single categories. A zero field has the value of Default; MaxAttempts of the
	// categories io and memory is at most 2 unless it is set here.
	ByCategory map[classify.Category]Policy
}

// once is the number of attempts for failures of the categories io and memory: they are retried once, and then need a
// person (S3-3, S4-3). To stop everything else meanwhile, call Engine.Pause from Hooks.OnFailure, whose event reports
// that the attempts are used up.
const once = 2

// For returns the complete policy of a category: no field is zero.
func (p Policies) For(c classify.Category) Policy {
	under := p.Default.WithDefaults()
	if c == classify.CategoryIO || c == classify.CategoryMemory {
		under.MaxAttempts = min(under.MaxAttempts, once)
	}
	return p.ByCategory[c].Over(under)
}

// Delay returns how long a record waits after a failure of the category that names no time itself; uniform returns
// numbers in [0, 1). It does not check whether attempts are left. Decide derives the due time from this delay.
func (p Policies) Delay(c classify.Category, tried Tried, tiers []Tier, uniform func() float64) time.Duration {
	delay, added := p.For(c).wait(tried, tiers, uniform)
	return delay + added
}

// wait returns the strategy's delay, which chooses the tier, and the jitter to add.
func (p Policy) wait(tried Tried, tiers []Tier, uniform func() float64) (delay, added time.Duration) {
	delay = p.delay(tried, tiers, uniform)
	if !p.Strategy.draws() {
		added = p.jitter(uniform)
	}
	return delay, added
}

// Faults returns an error with every fault of the policies, or nil.
func (p Policies) Faults() error {
	faults := p.Default.WithDefaults().faults("policy")
	for _, c := range slices.Sorted(maps.Keys(p.ByCategory)) {
		if !c.Retried() {
			faults = append(faults, fmt.Errorf("policy of category %s: its failures are never retried; only %v may have a policy", c, classify.RetriedCategories()))
			continue
		}
		faults = append(faults, p.For(c).faults("policy of category "+string(c))...)
	}
	return errors.Join(faults...)
}

// longestJitter returns the largest jitter that any of the policies adds to a tier's delay.
func (p Policies) longestJitter() time.Duration {
	longest := p.For("").Jitter
	for c := range p.ByCategory {
		longest = max(longest, p.For(c).Jitter)
	}
	return max(longest, 0)
}
