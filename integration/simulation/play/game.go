package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/story"
)

// game is one call of the command.
type game struct {
	options
	player
	out   io.Writer
	drawn []plan.Kind
	only  *plan.Plan // instead of seeds
	entry entry      // of the tally, for the current run
	end   uint64     // the seeds end before it
}

// noteEvery is the time between two writes of the tally.
const noteEvery = time.Minute

// play runs all requested worlds and reports whether a promise was broken.
func (g *game) play(ctx context.Context) (failed bool, err error) {
	began := time.Now()
	if g.during > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.during)
		defer cancel()
	}
	var broken []played
	worlds, virtual, noted := 0, time.Duration(0), time.Now()
	g.entry.To = g.entry.From
	err = g.each(ctx, g.jobs, g.plans, func(w played) bool {
		worlds++
		virtual += w.result.Virtual
		g.count(w)
		if g.digests {
			fmt.Fprintf(g.out, "seed %d: %s\n", w.plan.Seed, w.result.Digest)
		}
		if w.result.Fails() {
			broken = append(broken, w)
			fmt.Fprintf(g.out, "seed %d: %v\n", w.plan.Seed, w.result.Violations[0])
		}
		if time.Since(noted) > noteEvery {
			noted = time.Now()
			fmt.Fprintf(g.out, "%d worlds, %d failed, %v\n", worlds, len(broken), time.Since(began).Round(time.Second))
			err = g.note()
		}
		return err == nil
	})
	if stopped := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded); err != nil && !stopped {
		return false, err
	}
	if err := g.note(); err != nil {
		return false, err
	}
	if len(broken) > 0 {
		g.tell(context.WithoutCancel(ctx), broken[0])
	}
	fmt.Fprintf(g.out, "simulated worlds: %d played%s, %.1f virtual hours in %v, %d failed\n", worlds, g.which(), virtual.Hours(),
		time.Since(began).Round(time.Second), len(broken))
	return len(broken) > 0, nil
}

// plans yields the plans to run.
func (g *game) plans(yield func(plan.Plan) bool) {
	if g.only != nil {
		yield(*g.only)
		return
	}
	for seed := g.entry.From; seed < g.end; seed++ {
		if seed%uint64(g.entry.Shards) == uint64(g.entry.Shard) && !yield(plan.Draw(seed, g.drawn)) {
			return
		}
	}
}

func (g *game) which() string {
	if g.only != nil {
		return ""
	}
	text := fmt.Sprintf(" (seeds %d to %d", g.from, max(g.entry.To, 1)-1)
	if g.entry.Shards > 1 {
		text += ", shard " + g.shard
	}
	return text + ")"
}

// count adds a world to the next entry of the tally.
func (g *game) count(w played) {
	g.entry.To = w.plan.Seed + 1
	g.entry.Worlds++
	g.entry.Virtual += w.result.Virtual.Hours()
	g.entry.Processors += w.took.Seconds()
	if w.result.Fails() {
		g.entry.Failed = append(g.entry.Failed, w.plan.Seed)
	}
}

// note writes the entry of the tally and begins another one.
func (g *game) note() error {
	if g.tally == "" || g.only != nil || g.entry.Worlds == 0 {
		return nil
	}
	g.entry.At = time.Now().UTC().Truncate(time.Second)
	if err := g.entry.append(g.tally); err != nil {
		return fmt.Errorf("tally: %w", err)
	}
	g.entry = entry{Commit: g.entry.Commit, Faults: g.entry.Faults, Shard: g.entry.Shard, Shards: g.entry.Shards, From: g.entry.To, To: g.entry.To}
	return nil
}

// tell reduces a failing world and prints its story.
func (g *game) tell(ctx context.Context, w played) {
	if g.options.shrink > 0 && g.only == nil {
		fmt.Fprintf(g.out, "seed %d failed; looking for a smaller plan for at most %v\n", w.plan.Seed, g.options.shrink)
		smaller, err := g.player.shrink(ctx, w, g.jobs, g.options.shrink, func(w played) {
			faults, events := size(w.plan)
			fmt.Fprintf(g.out, "  still fails with %d faults and %d events\n", faults, events)
		})
		if err != nil {
			fmt.Fprintln(g.out, "the search ended early:", err)
		}
		w = smaller
	}
	lines := make([]string, 0, len(w.result.Violations))
	for _, v := range w.result.Violations {
		lines = append(lines, v.String())
	}
	fmt.Fprintln(g.out, story.Failure{
		Plan: w.plan.String(), Violations: lines, Story: w.result.Story, Journeys: w.result.Journeys, Output: w.output,
		Again: fmt.Sprintf("go run ./integration/simulation/play -plan '%s'", w.plan.Text()),
	})
}

func output(ctx context.Context, command string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, command, args...).Output()
	return strings.TrimSpace(string(out)), err
}
