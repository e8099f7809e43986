package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/standin"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// consume closes each letter that was put back until the test ends, as well says.
func (d *desk) consume(well func(letter string) bool) {
	d.t.Helper()
	standin.Consume(d.t, d.brokers(), func(ctx context.Context, cl *kgo.Client, r *kgo.Record) {
		id, _ := topiclog.Header(r, header.KeyDeadLetterID)
		to := deadletters.Pending
		if well(id) {
			to = deadletters.Reprocessed
		}
		standin.Close(ctx, d.t, cl, r, to, start)
	})
}

// printed are the commands that were printed last, as a shell reads them, without the program's name.
func (d *desk) printed() (commands [][]string) {
	d.t.Helper()
	for line := range strings.Lines(d.err.String()) {
		before, command, ok := strings.Cut(line, "replayer ")
		if !ok || strings.TrimSpace(before) != "" && !strings.HasSuffix(before, ": ") { // the program's own name, in words
			continue
		}
		words := must.Get(exec.CommandContext(d.t.Context(), "bash", "-c", `printf '%s\0' `+strings.TrimSpace(command)).Output())(d.t)
		commands = append(commands, strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00"))
	}
	return commands
}

// follow runs the commands that were printed last, in their order.
func (d *desk) follow(want cli.Exit) {
	d.t.Helper()
	commands := d.printed()
	must.That(d.t, len(commands) != 0, "no command was printed: %s", &d.err)
	for _, command := range commands {
		d.want(want, command...)
	}
}

// "apply the same plan" left the canaries behind, and after a replay without a plan there was none to apply.
func TestAdvice_S2_6_afterAFailedCanary(t *testing.T) {
	how := []string{"-c", "pipeline.yaml", "--canary", "2", "--actor", "bo's team", "--execute", "--reason", "mapped"}
	for name, begin := range map[string][]string{
		"a plan":              {"replay", "--plan", "the plan.jsonl"},
		"replay":              {"replay", "--code", "geometry_invalid"},
		"replay everything":   {"replay", "--all"},
		"replay with an id":   {"replay", "--all", "--replay-id", "again"},
		"replay with a limit": {"replay", "--limit", "4"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, false).many(4)
			var fixed atomic.Bool
			d.consume(func(string) bool { return fixed.Load() })
			d.want(cli.ExitDone, "plan", "-c", "pipeline.yaml", "-f", "the plan.jsonl")
			d.want(cli.ExitStopped, append(begin, how...)...).says("2 of the 2 dead letters of wave 1 failed again", "Once the cause is fixed")
			fixed.Store(true)
			d.follow(cli.ExitDone)
			d.prints(`"reinjected":4,`, `"reprocessed":4,`)
			d.want(cli.ExitNothing, "list", "-c", "pipeline.yaml", "--status", "pending")
		})
	}
}

// Every command that is printed exists, and does what was meant.
func TestAdvice_S4_8_everyPrintedCommandWorks(t *testing.T) {
	d := newDesk(t, true).fill()
	for _, id := range []string{"0-50-aaaaaaaa", "0-51-aaaaaaaa"} {
		d.put(letter(0, id, fmt.Sprintf(square, id), "ring 3 crosses itself"))
	}
	d.consume(func(string) bool { return true })
	plan := func() {
		d.want(cli.ExitDone, "plan", "-c", "pipeline.yaml", "--id", "0-50-aaaaaaaa", "-f", "plan.jsonl")
	}
	for _, c := range []struct {
		name  string
		print func()
		ends  cli.Exit
	}{
		{"plan says how to apply it", plan, cli.ExitDone},
		{"a replay says how to wait", func() {
			d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml", "--id", "0-51-aaaaaaaa", "--execute", "--reason", "x")
		}, cli.ExitDone},
		{"a dry run of replay", func() { d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml", "--id", "0-40-aaaaaaaa", "--wait") }, cli.ExitDone},
		{"a dry run of discard", func() { d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--id", "1-42-cccccccc") }, cli.ExitDone},
		{"undo", func() {}, cli.ExitDone},
		{"undo of the undo", func() {}, cli.ExitDone},
		{"another dry run of discard", func() { d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--id", "0-43-dddddddd") }, cli.ExitDone},
		{"a dry run of reopen", func() { d.want(cli.ExitDone, "reopen", "-c", "pipeline.yaml") }, cli.ExitDone},
		{"groups names a dead letter", func() {
			d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml")
		}, cli.ExitDone},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.t = t
			c.print()
			d.follow(c.ends)
		})
	}
}
