package simulate

import (
	"context"
	"time"
)

// GiveUp is how long after the last arrival a simulation goes on while something waits. What is not drained by then is
// not going to be: a provider that never answers keeps its breaker open permanently.
const GiveUp = 24 * time.Hour

// Run plays a scenario. It gives the context's error when that ends first, and a *TooMuchError when the scenario is larger than
// what is played. The same system, scenario and seed give the same report.
func Run(ctx context.Context, sys System, s Scenario) (Report, error) {
	w := newWorld(sys, s)
	if err := w.tooLarge(); err != nil {
		return Report{}, err
	}
	return newSimulation(w).run(ctx, mostEvents)
}
