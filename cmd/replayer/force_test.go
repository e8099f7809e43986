package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

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
	got := strings.Count(d.out.String(), `"force_version":"the newer survey is wrong"`)
	expect.That(t, got == 3, "%d audit events with the reason, want that of the replay and those of 2 dead letters:\n%s", got, &d.out)
}
