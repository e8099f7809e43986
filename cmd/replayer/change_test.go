package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// The way of a letter through the hands of operators, and its trail.
func TestChange_S4_6_discard_reopen_escalate_and_who_did_it(t *testing.T) {
	d := newDesk(t, false)
	d.fill()
	discard := []string{"discard", "-c", "pipeline.yaml", "--id", "0-40-aaaaaaaa,0-43-dddddddd"}
	d.want(cli.ExitRefused, discard...)
	d.says("replayer discard -c pipeline.yaml --id 0-40-aaaaaaaa --id 0-43-dddddddd --execute --reason")
	d.want(cli.ExitUsage, append(discard, "--execute")...)
	d.want(cli.ExitNothing, "reopen", "-c", "pipeline.yaml", "--all", "--execute", "--reason", "x")
	d.want(cli.ExitDone, append(discard, "--execute", "--reason", "test data", "--actor", "ana")...)
	d.want(cli.ExitPartly, append(discard, "--execute", "--reason", "again", "--actor", "bo")...)
	d.prints(`"changed":0,"left":2`, "by ana")
	d.want(cli.ExitDone, "reopen", "-c", "pipeline.yaml", "--id", "0-40-aaaaaaaa", "--execute", "--reason", "no test data", "-o", "table")
	d.prints("changed        1\n")
	d.want(cli.ExitDone, "audit", "-c", "pipeline.yaml", "-o", "table", "--letter", "0-40-aaaaaaaa")
	d.counts(2, "state_changed")
	d.prints("no test data")
	d.want(cli.ExitDone, "audit", "-c", "pipeline.yaml", "--actor", "ana", "--since", "1d")
	d.counts(3, "\n")
	d.prints(`"chain":{"of":"operators","seq":1,"prev":"","hash":"sha256:`)
	d.want(cli.ExitNothing, "audit", "-c", "pipeline.yaml", "--actor", "nobody")
}

// The dry run asks the index, the change goes by the topics: both choose the same letters.
func TestChange_S4_6_the_dry_run_counts_what_is_changed(t *testing.T) {
	d := newDesk(t, false)
	d.fill()
	for flags, want := range map[string]int{
		"--all": 5, "--limit 2": 2, "--code geometry_invalid": 4, "--code geometry_invalid --limit 3": 3, "--text Größe": 2, "--text ring": 4,
		"--header traceparent=00-1": 4, "--bbox 1,1,3,3 --feature P-0-40-aaaaaaaa": 1, "--id 0-39-bbbbbbbb": 1, "--status pending --since 2h": 5,
	} {
		args := append([]string{"discard", "-c", "pipeline.yaml"}, strings.Fields(flags)...)
		d.want(cli.ExitRefused, args...)
		counted := 0
		for line := range strings.Lines(d.out.String()) {
			var g dlq.GroupJSON
			must.Do(t, json.Unmarshal([]byte(line), &g))
			counted += g.Count
		}
		expect.That(t, counted == want, "dry run of discard %s: %d dead letters, want %d", flags, counted, want)
		d.want(cli.ExitDone, append(args, "--execute", "--reason", "x")...)
		d.prints(fmt.Sprintf(`"selected":%d,"changed":%d,`, want, want))
		d.want(cli.ExitDone, "reopen", "-c", "pipeline.yaml", "--all", "--execute", "--reason", "x")
	}
}

func TestPrune_S4_7_dry_run_then_execute(t *testing.T) {
	d := newDesk(t, false)
	d.fill()
	d.want(cli.ExitNothing, "prune", "-c", "pipeline.yaml")
	d.put(deadletters.State{ID: "0-40-aaaaaaaa", Status: deadletters.Reprocessed, At: start.Add(-40 * 24 * time.Hour), By: "c"}.Record("features.dlq-status", 0))
	d.want(cli.ExitRefused, "prune", "-c", "pipeline.yaml", "-o", "table")
	d.prints("1 dead letters that were resolved before 2026-10-04T04:05:06.000Z, 1 reprocessed")
	d.want(cli.ExitUsage, "prune", "-c", "pipeline.yaml", "--older-than", "long")
	d.want(cli.ExitUsage, "prune", "-c", "pipeline.yaml", "--execute")
	d.want(cli.ExitDone, "prune", "-c", "pipeline.yaml", "--execute", "--reason", "monthly", "--older-than", "30d")
	d.want(cli.ExitNothing, "list", "-c", "pipeline.yaml", "--id", "0-40-aaaaaaaa")
}
