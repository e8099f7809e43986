package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// S4-8: a plan is made, looked at, applied, applied again.
func TestPlan_S4_8_is_applied_as_it_was_frozen(t *testing.T) {
	d := newDesk(t, false).fill()
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

// overtaken writes a letter and says that a newer event of its key took effect since.
func (d *desk) overtaken() {
	d.put(letter(0, "0-40-aaaaaaaa", fmt.Sprintf(square, "a"), "ring 3 crosses itself"),
		letter(1, "1-42-cccccccc", fmt.Sprintf(square, "c"), "ring 1 crosses itself"),
		&kgo.Record{Topic: "features.state", Key: []byte("0-40-aaaaaaaa"), Value: []byte(`{"format":1,"letters":1,"applied":[0,60]}`)})
}

func TestForce_S4_8_warns_and_asks_for_a_reason(t *testing.T) {
	d := newDesk(t, true)
	d.overtaken()
	d.want(cli.ExitUsage, "replay", "-c", "pipeline.yaml", "--force-version")
	d.says("--force-version needs --reason")
	d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml", "--force-version", "--reason", "the newer survey is wrong")
	d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml", "-o", "json", "--replay-id", "r1", "--force-version", "--reason", "the newer survey is wrong")
	d.golden("forced-json")
	d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml")
	d.prints("superseded")
	d.says("1 of them superseded by newer events")
	d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml", "--force-version", "--reason", "the newer survey is wrong", "--all", "--execute")
	d.says("WARNING: --force-version: will overwrite newer data: 1, forced.")
}

// A forced plan is a file that travels: who applies it says so too.
func TestForce_S4_8_plan_and_apply_both_say_so(t *testing.T) {
	d := newDesk(t, false)
	d.overtaken()
	plan := func(args ...string) []string { return append([]string{"plan", "-c", "pipeline.yaml"}, args...) }
	d.want(cli.ExitUsage, plan("-f", "p.jsonl", "--force-version")...)
	d.want(cli.ExitUsage, plan("-f", "p.jsonl", "--reason", "without it")...)
	d.want(cli.ExitUsage, plan("-f", "p.jsonl", "--force-version", "--reason", "x", "--to", "features.audit")...)
	d.want(cli.ExitDone, plan("-f", "p.jsonl", "--force-version", "--reason", "the newer survey is wrong")...)
	d.says("p.jsonl --force-version --execute --reason 'the newer survey is wrong'")
	apply := func(args ...string) []string {
		return append([]string{"replay", "-c", "pipeline.yaml", "--plan", "p.jsonl"}, args...)
	}
	d.want(cli.ExitRefused, apply()...)
	d.says("WARNING")
	d.want(cli.ExitUsage, apply("--execute", "--reason", "agreed")...)
	d.want(cli.ExitDone, apply("--execute", "--reason", "agreed", "--force-version")...)
	d.want(cli.ExitDone, "audit", "-c", "pipeline.yaml")
	expect.Equal(t, strings.Count(d.out.String(), `"force_version":"the newer survey is wrong"`), 3, "audit events with the reason", &d.out)
}

// A dry run says who sees the records again, and a replay waits for the group that is watched.
func TestAudience_S4_8_C4(t *testing.T) {
	d, at := payments(t, false)
	d.put(d.died("payments", 0, 0, "k", `{"amount":1}`))
	commit := func(group string, offset int64) {
		t.Helper()
		offsets := kadm.Offsets{}
		for p := range int32(3) {
			offsets.AddOffset("payments", p, offset, -1)
		}
		must.Do(t, kadm.NewClient(d.writer).CommitAllOffsets(t.Context(), group, offsets))
	}
	for _, want := range []string{"No consumer group has committed an offset of payments", "payments is read by the group billing (lag 0); --watch-group", "warning: payments is read by 2 groups, and each sees the records again: billing (lag 0), fraud (lag 0)"} {
		d.want(cli.ExitRefused, with(at, "replay")...)
		d.says(want)
		if strings.HasPrefix(want, "No") {
			commit("billing", 0)
		} else {
			commit("fraud", 0)
		}
	}
	back := with(at, "replay", "--all", "--origin", "payments", "--execute", "--reason", "x", "--create-topics", "-o", "table", "--grace", "0s")
	d.want(cli.ExitUsage, append(back, "--watch-group", "nobody")...)
	expect.That(t, strings.Contains(d.err.String(), "there is no such consumer group") && len(d.read("payments")) == 0, "%s", &d.err)
	commit("billing", 100) // it is ahead of whatever comes
	d.want(cli.ExitDone, append(back, "--watch-group", "billing", "--wait")...)
	d.prints("consumed       1")
}
