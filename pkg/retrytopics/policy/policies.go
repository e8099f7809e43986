package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Policies is the retry policy of every category of failures (S3-3). Its zero value means the defaults.
type Policies struct {
	// Default is the policy of each category that has none of its own.
	Default Policy
	// ByCategory holds policies of their own. A zero field has the value of Default; MaxAttempts of the categories io and
	// memory is 2 at the most unless it is given here.
	ByCategory map[classify.Category]Policy
}

// once is how many attempts a failure of the categories io and memory gets: it is tried again once, alone, and then it
// is a case for a human (S3-3, S4-3). Who wants the rest to wait for that human calls Engine.Hold from Hooks.OnFailure, where
// the event says that the attempts are used up.
const once = 2

// For gives the complete policy of a category: no field is zero.
func (p Policies) For(c classify.Category) Policy {
	under := p.Default.WithDefaults()
	if c == classify.CategoryIO || c == classify.CategoryMemory {
		under.MaxAttempts = min(under.MaxAttempts, once)
	}
	return p.ByCategory[c].Over(under)
}

// Delay gives how long a record waits when an attempt at it has failed with a failure of the category that names no time
// itself; uniform returns numbers in [0, 1). It does not ask whether there are attempts left. This is the delay that
// Decide makes a due time of.
func (p Policies) Delay(c classify.Category, tried Tried, tiers []Tier, uniform func() float64) time.Duration {
	delay, added := p.For(c).wait(tried, tiers, uniform)
	return delay + added
}

// wait gives the strategy's delay, which chooses the tier, and the jitter that is added to it.
func (p Policy) wait(tried Tried, tiers []Tier, uniform func() float64) (delay, added time.Duration) {
	delay = p.delay(tried, tiers, uniform)
	if !p.Strategy.draws() {
		added = p.jitter(uniform)
	}
	return delay, added
}

// Faults reports everything that is wrong with the policies, or nil.
func (p Policies) Faults() error {
	faults := p.Default.WithDefaults().faults("policy")
	for _, c := range slices.Sorted(maps.Keys(p.ByCategory)) {
		if !c.Retried() {
			faults = append(faults, fmt.Errorf("policy of category %s: failures of it are never tried again; only %v may have a policy", c, classify.RetriedCategories()))
			continue
		}
		faults = append(faults, p.For(c).faults("policy of category "+string(c))...)
	}
	return errors.Join(faults...)
}

// longestJitter is the most that any of the policies adds to a tier's delay.
func (p Policies) longestJitter() time.Duration {
	longest := p.For("").Jitter
	for c := range p.ByCategory {
		longest = max(longest, p.For(c).Jitter)
	}
	return max(longest, 0)
}
