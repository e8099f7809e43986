package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/judge"
	"github.com/switchback-geo/switchback/integration/simulation/plan"
)

// shrink looks for a smaller plan that breaks one of the same promises, until none does or the time is over. tell hears of
// each step.
func (pl *player) shrink(ctx context.Context, failed played, jobs int, most time.Duration, tell func(played)) (played, error) {
	until := time.Now().Add(most)
	for again := true; again && time.Now().Before(until); {
		again = false
		err := pl.each(ctx, jobs, slices.Values(failed.plan.Smaller()), func(w played) bool {
			if again = alike(w, failed); again {
				first := failed.result.Violations[0].Property
				slices.SortStableFunc(w.result.Violations, func(a, b judge.Violation) int { // it stays the first
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

// alike says whether a world broke the promise that another one broke first.
func alike(w, failed played) bool {
	first := failed.result.Violations[0].Property
	return slices.ContainsFunc(w.result.Violations, func(v judge.Violation) bool { return v.Property == first })
}

// size is how much there is in a plan, for the progress of the search.
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
