package main

import (
	"context"
	"time"
)

// A quiet pipeline with retries, as issue reports describe it: few events at a time, each failing at its first two attempts.
const (
	quietBurst    = 3
	quietFailures = 2
	quietTime     = 2 * time.Minute
)

// quiet measures how long transactions take where there is hardly anything to commit: beside the bare loop, which has the
// same events without the failures. At such a load every wait of the client shows, because none hides behind another.
func (b *bench) quiet(ctx context.Context) error {
	events := quietBurst * int(quietTime/burstPause)
	b.say("%d events at a time, every %v for %v; of the engine each fails twice", quietBurst, burstPause, quietTime)
	b.say("| round | contender | transactions | aborted | transaction ms: p50 / p99 / max |")
	b.say("|---|---|---|---|---|")
	var p99 []float64
	for round := range b.rounds {
		for _, s := range []spec{
			{Kind: engine, Events: events, Burst: quietBurst, FailEvery: 1, FailTimes: quietFailures},
			{Kind: bare, Events: events, Burst: quietBurst, Batch: quietBurst},
		} {
			r, err := b.follow(ctx, s)
			if err != nil {
				return err
			}
			b.say("| %d | %s | %d | %d | %.1f / %.1f / %.1f |", round+1, s.Kind, r.Transactions, r.Aborted, r.Took.P50, r.Took.P99, r.Took.Max)
			if s.Kind == engine {
				p99 = append(p99, r.Took.P99)
			}
		}
	}
	b.say("")
	b.say("p99 of the engine's transactions, min / median / max over %d rounds: %s ms (aim: less than 50)", b.rounds, spread("%.1f", p99))
	return nil
}
