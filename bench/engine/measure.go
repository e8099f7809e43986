package main

import (
	"context"
	"fmt"
)

// printf prints one line of the result.
func (b *bench) printf(format string, args ...any) { fmt.Fprintf(b.out, format+"\n", args...) }

// speed compares the engine with the bare loop, in turn.
func (b *bench) speed(ctx context.Context) error {
	source, err := b.load(ctx)
	if err != nil {
		return err
	}
	b.printf("| round | contender | events/s | CPU µs/event | transactions | events each | aborted | RSS MiB |")
	b.printf("|---|---|---|---|---|---|---|---|")
	reports := map[kind][]*report{}
	for round := range b.rounds {
		batch := b.batch
		for _, k := range []kind{library, bare, dressed} {
			r, err := b.drain(ctx, spec{Kind: k, Source: source, Events: b.events, Batch: batch})
			if err != nil {
				return err
			}
			if k == library && batch == 0 {
				batch = int(r.batch())
			}
			reports[k] = append(reports[k], r)
			b.printf("| %d | %s | %.0f | %.2f | %d | %.0f | %d | %.0f |", round+1, k, r.rate(), r.cpu(), r.Transactions, r.batch(), r.Aborted, r.RSS)
		}
	}
	b.printf("")
	b.printf("min / median / max over %d rounds of %d events:", b.rounds, b.events)
	b.printRatio(reports, library, bare, " (aim: at least 0.85)", "")
	b.printRatio(reports, dressed, bare, "", "")
	b.printRatio(reports, library, dressed, "", " (aim: at most 1.25)")
	return nil
}

// printRatio prints the results of one contender relative to another.
func (b *bench) printRatio(reports map[kind][]*report, a, of kind, rateAim, cpuAim string) {
	b.printf("%s / %s: events per second %s%s, CPU per event %s%s", a, of,
		spread("%.2f", ratios(each(reports[a], (*report).rate), each(reports[of], (*report).rate))), rateAim,
		spread("%.2f", ratios(each(reports[a], (*report).cpu), each(reports[of], (*report).cpu))), cpuAim)
}

// pacedSeconds is the duration of a paced load.
const pacedSeconds = 20

// onePercent fails one event in a hundred.
const onePercent = 100

// lateness measures the retries of one event in a hundred, under full load and under a paced one.
func (b *bench) lateness(ctx context.Context) error {
	source, err := b.load(ctx)
	if err != nil {
		return err
	}
	b.printf("| round | load | events/s | retries (idle ones left out) | due to start ms: min / p50 / p99 / max | due to committed ms: p50 / p99 / max |")
	b.printf("|---|---|---|---|---|---|")
	for round := range b.rounds {
		full, err := b.drain(ctx, spec{Kind: library, Source: source, Events: b.events, FailEvery: onePercent})
		if err != nil {
			return err
		}
		b.sayLateness(round, "full", full)
		paced, err := b.follow(ctx, spec{Kind: library, Events: pacedSeconds * b.rate, FailEvery: onePercent})
		if err != nil {
			return err
		}
		b.sayLateness(round, fmt.Sprintf("%d/s", b.rate), paced)
	}
	b.printf("")
	b.printf("aims: due to start never negative, p50 at most 5 ms, p99 at most 50 ms; due to committed p50 at most 80 ms, p99 at most 250 ms")
	return nil
}

func (b *bench) sayLateness(round int, load string, r *report) {
	start, end := r.Retries.Start, r.Retries.Committed
	b.printf("| %d | %s | %.0f | %d (%d) | %.1f / %.1f / %.1f / %.1f | %.0f / %.0f / %.0f |", round+1, load, r.Healthy.rate(),
		start.N, r.Retries.Idle, start.Min, start.P50, start.P99, start.Max, end.P50, end.P99, end.Max)
}

// waitingPerSecond is the number of records per second that fail and wait in the measurement of pressure.
const waitingPerSecond = 100

// pressure compares healthy events in a run with failing events to the same run without failures, paced and at full
// speed. The share of failures is 100 per second relative to the rate.
func (b *bench) pressure(ctx context.Context) error {
	source, err := b.load(ctx)
	if err != nil {
		return err
	}
	failEvery := max((b.rate+waitingPerSecond)/waitingPerSecond, 2)
	b.printf("one event in %d fails once and waits %v", failEvery, firstTier)
	b.printf("| round | load | failures | healthy events/s | CPU µs/event | timestamp to commit ms: p50 / p99 |")
	b.printf("|---|---|---|---|---|---|")
	rates := map[string][]float64{}
	for round := range b.rounds {
		for _, failing := range []int{0, failEvery} {
			paced, err := b.follow(ctx, spec{Kind: library, Events: pacedSeconds * (b.rate + waitingPerSecond), FailEvery: failing})
			if err != nil {
				return err
			}
			full, err := b.drain(ctx, spec{Kind: library, Source: source, Events: b.events, FailEvery: failing})
			if err != nil {
				return err
			}
			b.printf("| %d | %d/s | %t | %.0f | %.2f | %.0f / %.0f |", round+1, b.rate, failing > 0, paced.Healthy.rate(), paced.cpu(), paced.Delay.P50, paced.Delay.P99)
			b.printf("| %d | full | %t | %.0f | %.2f | |", round+1, failing > 0, full.Healthy.rate(), full.cpu())
			for load, r := range map[string]*report{"paced": paced, "full": full} {
				name := fmt.Sprint(load, failing > 0)
				rates[name] = append(rates[name], r.Healthy.rate())
			}
		}
	}
	b.printf("")
	for _, load := range []string{"paced", "full"} {
		loss := ratios(rates[load+"true"], rates[load+"false"])
		for i := range loss {
			loss[i] = 100 * (1 - loss[i])
		}
		b.printf("healthy events lost per second at %s load, min / median / max: %s %% (aim: less than 5)", load, spread("%.1f", loss))
	}
	return nil
}
