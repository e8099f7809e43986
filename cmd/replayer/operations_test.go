package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/replay"
)

// actions reads what `audit --operations` prints.
func (d *desk) actions(args ...string) (all []replay.Action) {
	d.t.Helper()
	d.want(cli.ExitDone, append([]string{"audit", "-c", "pipeline.yaml", "--operations"}, args...)...)
	for line := range strings.Lines(d.out.String()) {
		var a replay.Action
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			d.t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// S4-6: one line for each command, with what it did, not with what it meant to do.
func TestOperations_S4_6_a_line_for_each_command(t *testing.T) {
	d := newDesk(t, false)
	d.fill()
	d.want(cli.ExitNothing, "audit", "-c", "pipeline.yaml", "--operations")
	d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--limit", "3", "--execute", "--reason", "not wanted", "--actor", "ana")
	d.want(cli.ExitDone, "reopen", "-c", "pipeline.yaml", "--limit", "1", "--execute", "--reason", "one is wanted", "--actor", "bo")
	d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--all", "--execute", "--reason", "all of them", "--actor", "ana")
	all := d.actions()
	if len(all) != 3 {
		t.Fatalf("%d actions, want 3: %+v", len(all), all)
	}
	byReason := map[string]replay.Action{} // the clock of the test stands still
	for _, a := range all {
		byReason[a.Reason] = a
	}
	for i, want := range []replay.Action{
		{By: "ana", Reason: "not wanted", What: "discard of 3 dead letters by ana", Done: map[audit.Decision]int{audit.StateChanged: 3}},
		{By: "bo", Reason: "one is wanted", What: "reopen of 1 dead letters by bo", Done: map[audit.Decision]int{audit.StateChanged: 1}},
		{By: "ana", Reason: "all of them", What: "discard of 3 dead letters by ana", Done: map[audit.Decision]int{audit.StateChanged: 3}},
	} {
		got := byReason[want.Reason]
		if got.By != want.By || got.Reason != want.Reason || got.What != want.What || len(got.Done) != 1 || got.Done[audit.StateChanged] != want.Done[audit.StateChanged] {
			t.Errorf("action %d: %+v\nwant %+v", i, got, want)
		}
		if got.Operation == "" || got.Began.IsZero() || got.Ended.Before(got.Began) {
			t.Errorf("action %d: operation %q from %v to %v", i, got.Operation, got.Began, got.Ended)
		}
	}
	if mine := d.actions("--actor", "bo"); len(mine) != 1 || mine[0].Operation != byReason["one is wanted"].Operation {
		t.Errorf("those of bo: %+v", mine)
	}
	d.want(cli.ExitDone, "audit", "-c", "pipeline.yaml", "--operations", "-o", "table")
	for _, says := range []string{"OPERATION", all[0].Operation, "3 state changed", "not wanted"} {
		if !strings.Contains(d.out.String(), says) {
			t.Errorf("the table does not say %q:\n%s", says, &d.out)
		}
	}
	d.want(cli.ExitUsage, "audit", "-c", "pipeline.yaml", "--operations", "--all")
}
