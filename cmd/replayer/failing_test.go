package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// Trap 4 of issue 18: "passes 0, refuses 6000", and on it went. What the dry run refuses stays, and the answer says how many and why.
func TestReplay_S4_8_putsBackOnlyWhatPassesTheDryRun(t *testing.T) {
	d := newDesk(t, false)
	for i := range 3 {
		id := fmt.Sprintf("0-%d-aaaaaaaa", 40+i)
		d.put(letter(0, id, fmt.Sprintf(bowTie, id), "ring 3 crosses itself"))
	}
	d.put(letter(0, "0-50-bbbbbbbb", "{", "it ends too early"))
	all := []string{"replay", "-c", "pipeline.yaml", "--all"}
	d.want(cli.ExitRefused, all...)
	d.says("4 dead letters of features.dlq selected: 0 to put back into features (today's transform passes 0, refuses 4, which are left without --including-failing;",
		"Dry run: nothing would be put back. Today's transform refuses 4 dead letters: fix the cause first, or see --including-failing.")
	expect.That(t, !strings.Contains(d.err.String(), "--execute --reason"), "a command is printed that does nothing: %s", &d.err)
	execute := append(all, "--execute", "--reason", "try", "-o", "table")
	d.want(cli.ExitPartly, execute...)
	if out := d.out.String(); !strings.Contains(out, "put back       0 into features\n") || strings.Count(out, "transform would refuse it") != 2 || !strings.Contains(out, "      3  0-40-aaaaaaaa  today's transform would refuse it: geometry_invalid") {
		t.Errorf("stdout %s", out)
	}
	d.want(cli.ExitUsage, append(execute, "--only-passing=maybe")...)
	d.want(cli.ExitPartly, append(execute, "--only-passing")...) // the name of what is the default now
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "--status", "pending")
	d.counts(4, "\n")
	d.want(cli.ExitDone, "plan", "-c", "pipeline.yaml", "-f", "plan.jsonl")
	d.says("it puts nothing back. Today's transform refuses 4 dead letters")
	d.want(cli.ExitRefused, "replay", "-c", "pipeline.yaml", "--plan", "plan.jsonl", "--including-failing")
	d.says("replayer replay -c pipeline.yaml --plan plan.jsonl --including-failing --execute")
	d.want(cli.ExitDone, append(execute, "--including-failing")...)
	d.prints("put back       4 into features\n")
}
