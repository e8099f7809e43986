package main

import (
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// A plan that is applied twice is two lines, each with its own reason and what it did; beside the name stands the system's user.
func TestOperations_S4_6_aLineForEachCall(t *testing.T) {
	d := newDesk(t, false)
	d.fill()
	d.want(cli.ExitDone, "plan", "-c", "pipeline.yaml", "--id", "0-40-aaaaaaaa", "-f", "plan.jsonl")
	d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml", "--plan", "plan.jsonl", "--execute", "--reason", "first", "--actor", "anna")
	d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--id", "1-42-cccccccc", "--execute", "--reason", "not wanted", "--actor", "anna")
	for range 2 {
		d.run("undo", "-c", "pipeline.yaml", d.actions()[0].Operation, "--execute", "--reason", "no")
	}
	all := d.actions("--actor", "anna")
	byReason := map[string]int{}
	for _, a := range all {
		byReason[a.Reason] += a.Done[audit.Replayed] + a.Done[audit.StateChanged]
		expect.That(t, a.User != "" && strings.Contains(a.User, "@") && a.By == "anna", "%+v", a)
	}
	expect.That(t, len(all) == 2 && byReason["first"] == 1 && byReason["not wanted"] == 1, "%+v", all)
	d.want(cli.ExitDone, "audit", "-c", "pipeline.yaml", "--operations", "-o", "table")
	d.prints("anna (" + all[0].User + ")")
}

// What a person reads: own colours are whole, a dry run says "would", and the printed command has the reason that was given.
func TestWords_S4_8(t *testing.T) {
	d := newDesk(t, true)
	d.fill()
	d.env.Color = true
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "0-40-aaaaaaaa")
	expect.That(t, strings.Contains(d.out.String(), green+"passes (remote steps and the sink are not tried)"+reset) && !strings.Contains(d.out.String(), "\uFFFD["),
		"%q", &d.out)
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "1-42-cccccccc")
	d.prints(red + "fails: geometry_invalid (gate): " + reset)
	d.env.Color = false
	const reason = "area is an estimate; it's \"rough\""
	for _, command := range [][]string{
		{"discard", "--code", "geometry_invalid"}, {"escalate", "--id", "1-42-cccccccc"}, {"replay", "--id", "0-40-aaaaaaaa"}, {"prune"},
	} {
		d.run(append(append(command, "-c", "pipeline.yaml"), "--reason", reason)...)
		said := d.err.String()
		expect.That(t, (!strings.Contains(said, "To do it:") || strings.Contains(said, "--execute --reason "+quoted(reason))) && !strings.Contains(said, "'why'"), "%v: %s", command, said)
	}
	d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--id", "1-42-cccccccc", "--execute", "--reason", "x")
	d.env.Now = func() time.Time { return start }
	operation := ""
	for word := range strings.FieldsSeq(d.out.String()) {
		if strings.HasPrefix(word, "discard-") {
			operation = word
		}
	}
	d.want(cli.ExitDone, "undo", "-c", "pipeline.yaml", operation)
	expect.That(t, strings.Contains(d.out.String(), "would change   1\n") && strings.Contains(d.out.String(), "would skip     0\n") && !strings.Contains(d.out.String(), "\nchanged"),
		"%s", &d.out)
}
