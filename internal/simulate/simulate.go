package simulate

import (
	"context"
	"time"
)

// GiveUp is how long after the last arrival a simulation continues while something waits. What is not drained by then
// never will be: a provider that never answers keeps its breaker open.
const GiveUp = 24 * time.Hour

// Run plays a scenario. It returns the context's error if that ends first, and a *TooMuchError if the scenario is too
// large. Equal systems, scenarios and seeds give equal reports.
func Run(ctx context.Context, sys System, s Scenario) (Report, error) {
	w := newWorld(sys, s)
	if err := w.tooLarge(); err != nil {
		return Report{}, err
	}
	return newSimulation(w).run(ctx, mostEvents)
}
