package main

import (
	"os"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestPipelineFile_byFlagArgumentAndEnvironment(t *testing.T) {
	d := newDesk(t, false)
	d.fill()
	text := must.Get(os.ReadFile("pipeline.yaml"))(t)
	must.Do(t, os.WriteFile("other.yaml", text, 0o600))
	for _, c := range []struct {
		name, env string
		args      []string
		code      cli.Exit
		want      string // of both outputs
	}{
		{"by the flag", "", []string{"list", "-c", "pipeline.yaml"}, cli.ExitDone, `"id":`},
		{"by an argument", "", []string{"list", "pipeline.yaml"}, cli.ExitDone, `"id":`},
		{"by the environment", "pipeline.yaml", []string{"list"}, cli.ExitDone, `"id":`},
		{"by all three", "./pipeline.yaml", []string{"list", "pipeline.yaml", "-c", "pipeline.yaml"}, cli.ExitDone, `"id":`},
		{"beside an argument of its own", "pipeline.yaml", []string{"show", "1-42-cccccccc"}, cli.ExitDone, `"id":`},
		{"a part says of how many", "pipeline.yaml", []string{"list", "--limit", "2", "-o", "table"}, cli.ExitDone, "2 of 5 dead letters"},
		{"-v says by what", "pipeline.yaml", []string{"stats", "-v"}, cli.ExitDone, `"named_by":"SWITCHBACK_CONFIG"`},
		{"what it advises names the file", "pipeline.yaml", []string{"replay"}, cli.ExitRefused, "replayer replay -c pipeline.yaml"},
		{"by none", "", []string{"list"}, cli.ExitUsage, "which pipeline? no pipeline file is named: give it with -c FILE, as an argument"},
		{"a command of the own DLQ by none", "", []string{"discard"}, cli.ExitUsage, "which pipeline? no pipeline file is named"},
		{"flag and environment differ", "other.yaml", []string{"discard", "-c", "pipeline.yaml"}, cli.ExitUsage, `two pipeline files are named: "pipeline.yaml" by -c and "other.yaml" by SWITCHBACK_CONFIG`},
		{"flag and argument differ", "", []string{"list", "other.yaml", "-c", "pipeline.yaml"}, cli.ExitUsage, `"other.yaml" by the argument; name one`},
		{"a variable of the shell that is not set", "pipeline.yaml", []string{"list", "-c", ""}, cli.ExitUsage, "-c names an empty pipeline file"},
		{"two words", "", []string{"list", "pipeline.yaml", "now"}, cli.ExitUsage, "accepts at most 1 arg"},
		{"an id is no file", "", []string{"discard", "1-42-cccccccc"}, cli.ExitUsage, "1-42-cccccccc"},
		{"brokers that are named are meant", "other.yaml", []string{"list", "--brokers", "127.0.0.1:1", "-c", "pipeline.yaml"}, cli.ExitUsage, "leave --brokers"},
		{"what needs none asks for none", "nowhere.yaml", []string{"version"}, cli.ExitDone, "v1.2.3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("SWITCHBACK_CONFIG", c.env)
			d.want(c.code, c.args...)
			got := d.out.String() + d.err.String()
			expect.That(t, strings.Contains(got, c.want), "want %s, got\n%s", c.want, got)
		})
	}
}
