package main

import (
	"context"
	"sync"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
)

// each runs plans, jobs at a time, and calls tell with their results in order. It stops when tell returns false, or at
// the first error.
func (pl *player) each(ctx context.Context, jobs int, plans func(yield func(plan.Plan) bool), tell func(played) (more bool)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		played
		err error
	}
	order := make(chan chan outcome, jobs) // the running plans, in order
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		defer close(order)
		for p := range plans {
			one := make(chan outcome, 1)
			select {
			case order <- one:
			case <-ctx.Done():
				return
			}
			all.Go(func() {
				w, err := pl.play(ctx, p)
				one <- outcome{w, err}
			})
		}
	})
	for one := range order {
		o := <-one
		if o.err != nil {
			cancel()
			return o.err
		}
		if !tell(o.played) {
			cancel()
			return nil
		}
	}
	return ctx.Err()
}
