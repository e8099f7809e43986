package main

import (
	"context"
	"fmt"
)

// say prints one line of the result.
func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.out, format+"\n", args...) }

// speed compares the engine with the bare loop, in turn.
func (b *bench) speed(ctx context.Context) error {
	source, err := b.load(ctx)
	if err != nil {
		return err
	}
	b.say("| round | contender | events/s | CPU µs/event | transactions | events each | aborted | RSS MiB |")
	b.say("|---|---|---|---|---|---|---|---|")
	reports := map[kind][]*report{}
	for round := range b.rounds {
		batch := b.batch
		for _, k := range []kind{engine, bare, dressed} {
			r, err := b.drain(ctx, spec{Kind: k, Source: source, Events: b.events, Batch: batch})
			if err != nil {
				return err
			}
			if k == engine && batch == 0 {
				batch = int(r.batch())
			}
			reports[k] = append(reports[k], r)
			b.say("| %d | %s | %.0f | %.2f | %d | %.0f | %d | %.0f |", round+1, k, r.rate(), r.cpu(), r.Transactions, r.batch(), r.Aborted, r.RSS)
		}
	}
	b.say("")
	b.say("min / median / max over %d rounds of %d events:", b.rounds, b.events)
	b.sayRatio(reports, engine, bare, " (aim: at least 0.85)", "")
	b.sayRatio(reports, dressed, bare, "", "")
	b.sayRatio(reports, engine, dressed, "", " (aim: at most 1.25)")
	return nil
}

// sayRatio prints what one contender did beside another.
func (b *bench) sayRatio(reports map[kind][]*report, a, of kind, rateAim, cpuAim string) {
	b.say("%s / %s: events per second %s%s, CPU per event %s%s", a, of,
		spread("%.2f", ratios(each(reports[a], (*report).rate), each(reports[of], (*report).rate))), rateAim,
		spread("%.2f", ratios(each(reports[a], (*report).cpu), each(reports[of], (*report).cpu))), cpuAim)
}

// pacedSeconds is how long a paced load lasts.
const pacedSeconds = 20

// onePercent fails one event in a hundred.
const onePercent = 100

// lateness measures the retries of one event in a hundred, under full load and under a paced one.
func (b *bench) lateness(ctx context.Context) error {
	source, err := b.load(ctx)
	if err != nil {
		return err
	}
	b.say("| round | load | events/s | retries (idle ones left out) | due to start ms: min / p50 / p99 / max | due to committed ms: p50 / p99 / max |")
	b.say("|---|---|---|---|---|---|")
	for round := range b.rounds {
		full, err := b.drain(ctx, spec{Kind: engine, Source: source, Events: b.events, FailEvery: onePercent})
		if err != nil {
			return err
		}
		b.sayLateness(round, "full", full)
		paced, err := b.follow(ctx, spec{Kind: engine, Events: pacedSeconds * b.rate, FailEvery: onePercent})
		if err != nil {
			return err
		}
		b.sayLateness(round, fmt.Sprintf("%d/s", b.rate), paced)
	}
	b.say("")
	b.say("aims: due to start never negative, p50 at most 5 ms, p99 at most 50 ms; due to committed p50 at most 80 ms, p99 at most 250 ms")
	return nil
}

func (b *bench) sayLateness(round int, load string, r *report) {
	start, end := r.Retries.Start, r.Retries.Committed
	b.say("| %d | %s | %.0f | %d (%d) | %.1f / %.1f / %.1f / %.1f | %.0f / %.0f / %.0f |", round+1, load, r.Healthy.rate(),
		start.N, r.Retries.Idle, start.Min, start.P50, start.P99, start.Max, end.P50, end.P99, end.Max)
}

// waitingPerSecond is how many records per second fail and wait in the measurement of pressure.
const waitingPerSecond = 100

// pressure compares the healthy events beside failing ones with the same run without failures, paced and at full speed.
// The share of failures is that of 100 per second beside the rate.
func (b *bench) pressure(ctx context.Context) error {
	source, err := b.load(ctx)
	if err != nil {
		return err
	}
	failEvery := max((b.rate+waitingPerSecond)/waitingPerSecond, 2)
	b.say("one event in %d fails once and waits %v", failEvery, firstTier)
	b.say("| round | load | failures | healthy events/s | CPU µs/event | timestamp to commit ms: p50 / p99 |")
	b.say("|---|---|---|---|---|---|")
	rates := map[string][]float64{}
	for round := range b.rounds {
		for _, failing := range []int{0, failEvery} {
			paced, err := b.follow(ctx, spec{Kind: engine, Events: pacedSeconds * (b.rate + waitingPerSecond), FailEvery: failing})
			if err != nil {
				return err
			}
			full, err := b.drain(ctx, spec{Kind: engine, Source: source, Events: b.events, FailEvery: failing})
			if err != nil {
				return err
			}
			b.say("| %d | %d/s | %t | %.0f | %.2f | %.0f / %.0f |", round+1, b.rate, failing > 0, paced.Healthy.rate(), paced.cpu(), paced.Delay.P50, paced.Delay.P99)
			b.say("| %d | full | %t | %.0f | %.2f | |", round+1, failing > 0, full.Healthy.rate(), full.cpu())
			for load, r := range map[string]*report{"paced": paced, "full": full} {
				name := fmt.Sprint(load, failing > 0)
				rates[name] = append(rates[name], r.Healthy.rate())
			}
		}
	}
	b.say("")
	for _, load := range []string{"paced", "full"} {
		loss := ratios(rates[load+"true"], rates[load+"false"])
		for i := range loss {
			loss[i] = 100 * (1 - loss[i])
		}
		b.say("healthy events lost per second at %s load, min / median / max: %s %% (aim: less than 5)", load, spread("%.1f", loss))
	}
	return nil
}
