package main

import (
	"context"
	"time"
)

// These are the settings of a quiet pipeline with retries: few events at a time, each failing at its first two attempts.
const (
	quietBurst    = 3
	quietFailures = 2
	quietTime     = 2 * time.Minute
)

// quiet measures the duration of transactions under very low load, compared with a bare loop that has the same events
// without failures. At low load, every wait of the client is visible.
func (b *bench) quiet(ctx context.Context) error {
	events := quietBurst * int(quietTime/burstPause)
	b.printf("%d events at a time, every %v for %v; of the engine each fails twice", quietBurst, burstPause, quietTime)
	b.printf("| round | contender | transactions | aborted | transaction ms: p50 / p99 / max |")
	b.printf("|---|---|---|---|---|")
	var p99 []float64
	for round := range b.rounds {
		for _, s := range []spec{
			{Kind: library, Events: events, Burst: quietBurst, FailEvery: 1, FailTimes: quietFailures},
			{Kind: bare, Events: events, Burst: quietBurst, Batch: quietBurst},
		} {
			r, err := b.follow(ctx, s)
			if err != nil {
				return err
			}
			b.printf("| %d | %s | %d | %d | %.1f / %.1f / %.1f |", round+1, s.Kind, r.Transactions, r.Aborted, r.Took.P50, r.Took.P99, r.Took.Max)
			if s.Kind == library {
				p99 = append(p99, r.Took.P99)
			}
		}
	}
	b.printf("")
	b.printf("p99 of the engine's transactions, min / median / max over %d rounds: %s ms (aim: less than 50)", b.rounds, spread("%.1f", p99))
	return nil
}
