package main

import (
	"os"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestEdit_S4_8_shows_then_edits_then_wants_the_latest(t *testing.T) {
	d := newDesk(t, true)
	d.fill()
	fix := []string{"edit", "1-42-cccccccc", "-c", "pipeline.yaml", "--set", "geometry.coordinates=[[[0,0],[2,0],[2,2],[0,2],[0,0]]]"}
	d.want(cli.ExitDone, fix...)
	d.prints("/geometry/coordinates", "today's transform passes")
	expect.That(t, strings.Contains(d.err.String(), "1 dead letter selected: 1 can be edited so, and today's transform would pass 1 of them") && strings.Contains(d.err.String(), "replayer edit -c pipeline.yaml --id 1-42-cccccccc --set 'geometry.coordinates="),
		"stderr %s", &d.err)
	d.want(cli.ExitDone, append(fix, "--execute", "--reason", "uncrossed")...)
	must.Do(t, os.WriteFile("merge.json", []byte(`{"properties":{"checked":true}}`), 0o600))
	again := []string{"edit", "1-42-cccccccc", "-c", "pipeline.yaml", "--merge", "@merge.json", "--execute", "--reason", "checked"}
	d.want(cli.ExitPartly, again...)
	d.prints("it was edited before")
	d.want(cli.ExitDone, append(again, "--from", "latest")...)
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "1-42-cccccccc")
	d.prints(`"checked":true`, "switchback-edit-of: features.dlq/1/")
}

func TestEdit_exit_codes(t *testing.T) {
	d := newDesk(t, false)
	d.fill()
	d.want(cli.ExitUsage, "edit", "-c", "pipeline.yaml")
	d.want(cli.ExitUsage, "edit", "-c", "pipeline.yaml", "--set", "a")
	d.want(cli.ExitUsage, "edit", "-c", "pipeline.yaml", "--patch", "@absent.json")
	d.want(cli.ExitUsage, "edit", "-c", "pipeline.yaml", "--set", "a=1", "--execute")
	d.want(cli.ExitNothing, "edit", "-c", "pipeline.yaml", "--set", "a=1", "--code", "timeout")
	d.want(cli.ExitNothing, "edit", "-c", "pipeline.yaml", "--patch", `[{"op":"remove","path":"/none"}]`)
	d.want(cli.ExitRefused, "edit", "-c", "pipeline.yaml", "--set", "properties.a=1")
	d.counts(5, "\n")
}
