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
	good, other := file(t, pipelineFile), file(t, strings.Replace(pipelineFile, "parcels", "roads", 1))
	for _, c := range []struct {
		name, env string
		args      []string
		code      cli.Exit
		want      string // of both outputs
	}{
		{"by the flag", "", []string{"describe", "-c", good}, 0, "parcels.retry-60s"},
		{"by an argument", "", []string{"describe", good}, 0, "parcels.retry-60s"},
		{"by the environment", good, []string{"describe"}, 0, "parcels.retry-60s"},
		{"by all three", good, []string{"describe", good, "-c", good}, 0, "parcels.retry-60s"},
		{"-v says by what", good, []string{"describe", "-v"}, 0, `"named_by":"SWITCHBACK_CONFIG"`},
		{"by none", "", []string{"describe"}, 2, "no pipeline file is named: give it with -c FILE, as an argument where the command has no other, or by SWITCHBACK_CONFIG; such as `consumer describe -c pipeline.yaml`"},
		{"flag and environment differ", other, []string{"describe", "-c", good}, 2, "two pipeline files are named"},
		{"flag and argument differ", "", []string{"describe", other, "-c", good}, 2, `by the argument; name one`},
		{"a variable of the shell that is not set", good, []string{"describe", "-c", ""}, 2, "-c names an empty pipeline file"},
		{"an order", other, []string{"pause", "-c", good, "--reason", "x"}, 2, "two pipeline files are named"},
		{"transform takes its argument for no pipeline", "", []string{"transform", good}, 2, "takes flags only"},
		{"a file that the environment names and is not there", "nowhere.yaml", []string{"validate"}, 2, "nowhere.yaml"},
		{"a ledger that is named is meant", good, []string{"verify", "audit", "--ledger", "nowhere.json"}, 2, "nowhere.json"},
		{"two ledgers", "", []string{"verify", "audit", "--ledger", "l.json", "-c", good}, 2, "two audit trails"},
		{"what needs none asks for none", "nowhere.yaml", []string{"version"}, 0, "commit"},
		{"the help says it", "", []string{"--help"}, 0, "by -c FILE, as an argument"},
		{"so does the help of a command", "", []string{"describe", "--help"}, 0, "also as an argument, or by"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("SWITCHBACK_CONFIG", c.env)
			code, stdout, stderr := call(c.args...)
			expect.That(t, code == c.code && strings.Contains(stdout+stderr, c.want),
				"exit %d, want %d and %s\nstdout %s\nstderr %s", code, c.code, c.want, stdout, stderr)
		})
	}
}

// A command that is added with -c by hand would miss the two other ways.
func TestPipelineFile_everyCommandTakesItInOneWay(t *testing.T) {
	t.Setenv("SWITCHBACK_CONFIG", "")
	must.Do(t, os.Unsetenv("SWITCHBACK_CONFIG"))
	seen := 0
	commands := newRoot(nil).Commands()
	for len(commands) > 0 {
		cmd := commands[0]
		commands = append(commands[1:], cmd.Commands()...)
		if cmd.Flags().Lookup("config") == nil {
			continue
		}
		seen++
		if cmd.PreRunE == nil {
			t.Errorf("%s has -c, and does not take it through configFlag", cmd.CommandPath())
			continue
		}
		if err := cmd.PreRunE(cmd, nil); err == nil || !strings.Contains(err.Error(), "SWITCHBACK_CONFIG") {
			t.Errorf("%s without a file: %v", cmd.CommandPath(), err)
		}
	}
	expect.That(t, seen >= 15, "only %d commands have -c", seen)
}
