package main

import (
	"os"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
)

func TestEdit_S4_8_shows_then_edits_then_wants_the_latest(t *testing.T) {
	d := newDesk(t, true)
	d.fill()
	fix := []string{"edit", "1-42-cccccccc", "-c", "pipeline.yaml", "--set", "geometry.coordinates=[[[0,0],[2,0],[2,2],[0,2],[0,0]]]"}
	d.want(cli.ExitDone, fix...)
	for _, want := range []string{"/geometry/coordinates", "today's transform passes"} {
		if !strings.Contains(d.out.String(), want) {
			t.Errorf("no %q in %s", want, &d.out)
		}
	}
	if !strings.Contains(d.err.String(), "1 dead letter selected: 1 can be edited so, and today's transform would pass 1 of them") ||
		!strings.Contains(d.err.String(), "replayer edit -c pipeline.yaml --id 1-42-cccccccc --set 'geometry.coordinates=") {
		t.Errorf("stderr %s", &d.err)
	}
	d.want(cli.ExitDone, append(fix, "--execute", "--reason", "uncrossed")...)
	if err := os.WriteFile("merge.json", []byte(`{"properties":{"checked":true}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	again := []string{"edit", "1-42-cccccccc", "-c", "pipeline.yaml", "--merge", "@merge.json", "--execute", "--reason", "checked"}
	d.want(cli.ExitPartly, again...)
	if !strings.Contains(d.out.String(), "it was edited before") {
		t.Errorf("stdout %s", &d.out)
	}
	d.want(cli.ExitDone, append(again, "--from", "latest")...)
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "1-42-cccccccc")
	if !strings.Contains(d.out.String(), `"checked":true`) || !strings.Contains(d.out.String(), "switchback-edit-of: features.dlq/1/") {
		t.Errorf("stdout %s", &d.out)
	}
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
	if n := strings.Count(d.out.String(), "\n"); n != 5 {
		t.Errorf("%d lines: %s", n, &d.out)
	}
}
