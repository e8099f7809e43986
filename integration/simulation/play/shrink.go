package main

import (
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

// alike says whether two worlds broke a promise of the same kind.
func alike(a, b played) bool {
	return slices.ContainsFunc(a.result.Violations, func(v judge.Violation) bool {
		return slices.ContainsFunc(b.result.Violations, func(w judge.Violation) bool { return v.Property == w.Property })
	})
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
