package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// S4-8: a plan is made, looked at, applied, applied again.
func TestPlan_S4_8_is_applied_as_it_was_frozen(t *testing.T) {
	d := newDesk(t, false)
	d.fill()
	d.want(cli.ExitDone, "plan", "-c", "pipeline.yaml", "-f", "fix.jsonl", "--code", "geometry_invalid", "--replay-id", "r1")
	d.golden("plan-ndjson")
	d.put(letter(0, "0-99-eeeeeeee", fmt.Sprintf(square, "late"), "ring 3 crosses itself")) // after the plan
	d.put(deadletters.State{ID: "1-42-cccccccc", Status: deadletters.Discarded, At: start, By: "bo"}.Record("features.dlq-status", 1))
	d.want(cli.ExitRefused, "replay", "-c", "pipeline.yaml", "--plan", "fix.jsonl")
	d.want(cli.ExitPartly, "replay", "-c", "pipeline.yaml", "--plan", "fix.jsonl", "--including-failing", "--execute", "--reason", "fixed")
	var r struct {
		ReplayID                                         string `json:"replay_id"`
		Attempted, Reinjected, Duplicates, Left, Already int
		Skipped                                          []struct{ ID, Why string }
	}
	d.decode(&r)
	expect.That(t, r.ReplayID == "r1" && r.Attempted == 4 && r.Reinjected == 2 && r.Duplicates == 1 && r.Left == 1 && r.Skipped[0].ID == "1-42-cccccccc" && strings.Contains(r.Skipped[0].Why, "discarded since"),
		"%+v", r)
	d.want(cli.ExitPartly, "replay", "-c", "pipeline.yaml", "--plan", "fix.jsonl", "--including-failing", "--execute", "--reason", "again")
	err := json.Unmarshal(d.out.Bytes(), &r)
	expect.That(t, err == nil && r.Reinjected == 0 && r.Already == 3, "%+v, %v", r, err)
	d.want(cli.ExitDone, "replays", "-c", "pipeline.yaml", "r1")
	d.prints(`"attempted":2,"duplicates":1,"reprocessed":0,"failed_again":0,"escalated":0,"closed":0,"under_way":2`)
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "--id", "0-99-eeeeeeee", "--status", "pending")
}
