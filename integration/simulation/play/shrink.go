package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/judge"
	"github.com/switchback-geo/switchback/integration/simulation/plan"
)

// shrink searches for a smaller plan that violates one of the same guarantees, until there is none or the time is
// over. It calls tell for each step.
func (pl *player) shrink(ctx context.Context, failed played, jobs int, limit time.Duration, tell func(played)) (played, error) {
	until := time.Now().Add(limit)
	for again := true; again && time.Now().Before(until); {
		again = false
		err := pl.each(ctx, jobs, slices.Values(failed.plan.Smaller()), func(w played) bool {
			if again = alike(w, failed); again {
				first := failed.result.Violations[0].Property
				slices.SortStableFunc(w.result.Violations, func(a, b judge.Violation) int { // the common promise becomes the first
					return cmp.Compare(index(a.Property != first), index(b.Property != first))
				})
				failed = w
				tell(failed)
			}
			return !again && time.Now().Before(until)
		})
		if err != nil {
			return failed, err
		}
	}
	return failed, nil
}

// alike reports whether a world violated the guarantee that another one violated first.
func alike(w, failed played) bool {
	first := failed.result.Violations[0].Property
	return slices.ContainsFunc(w.result.Violations, func(v judge.Violation) bool { return v.Property == first })
}

// size returns the numbers of faults and events of a plan.
func size(p plan.Plan) (faults, events int) {
	for n := range p.Load.Records {
		if p.Load.Sends(n) {
			events++
		}
	}
	return len(p.Faults), events
}

func index(later bool) int {
	if later {
		return 1
	}
	return 0
}
