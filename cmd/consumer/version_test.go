package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestVersion_commandAndFlag(t *testing.T) {
	code, stdout, stderr := call("version", "-o", "json")
	var info cli.Build
	err := json.Unmarshal([]byte(stdout), &info)
	must.That(t, err == nil && code == 0 && stderr == "", "exit %d, %v\nstdout %s\nstderr %s", code, err, stdout, stderr)
	if info != cli.ReadBuild() || info.Go != runtime.Version() {
		t.Errorf("got %+v, want %+v", info, cli.ReadBuild())
	}
	code, stdout, _ = call("version")
	expect.That(t, code == 0 && strings.HasPrefix(stdout, "consumer  "+info.Version+"\ncommit    "), "exit %d:\n%s", code, stdout)
	code, stdout, _ = call("--version")
	expect.That(t, code == 0 && stdout == "consumer "+info.String()+"\n", "exit %d:\n%s", code, stdout)
}

// -v meant the version here and verbose in the replayer.
func TestVerbose_isTheSameInEveryCommand(t *testing.T) {
	name := file(t, pipelineFile)
	for _, args := range [][]string{{"validate", "-v", "-c", name}, {"-v", "validate", "-c", name}, {"describe", "--verbose", "-c", name}} {
		code, stdout, stderr := call(args...)
		var line struct{ Msg, File, Version string }
		err := json.Unmarshal([]byte(stderr), &line)
		expect.That(t, err == nil && code == 0 && line.Msg == "pipeline file" && line.File == name && line.Version == cli.ReadBuild().String(), "%v: exit %d, %v\n%s", args, code, err, stderr)
		_, quiet, _ := call(args[0], args[len(args)-2], args[len(args)-1])
		expect.That(t, args[0] == "-v" || quiet == stdout, "%v: the output is another one:\n%s", args, stdout)
	}
	_, _, stderr := call("validate", "-c", name)
	expect.That(t, stderr == "", "without -v: %s", stderr)
}

func TestRun_verboseIsDebugWhateverTheFileSays(t *testing.T) {
	t.Setenv("SWITCHBACK_LOG_LEVEL", "error")
	cfg := &config.Config{Log: config.Log{Level: config.LogWarn}}
	for _, c := range []struct {
		args         []string
		before, then slog.Level
		reloads      bool
	}{
		{nil, slog.LevelError, slog.LevelWarn, true},
		{[]string{"-v"}, slog.LevelDebug, slog.LevelDebug, false},
	} {
		root := newRoot(nil)
		cmd, _, err := root.Find([]string{"run"})
		must.That(t, err == nil, "%v", err)
		must.Do(t, cmd.ParseFlags(c.args))
		_, level, err := cli.NewLogger(io.Discard, firstLevel(cmd))
		if err != nil || level.Level() != c.before {
			t.Errorf("%v: begins at %v, want %v (%v)", c.args, level.Level(), c.before, err)
		}
		if reloads := fileLevel(cmd, level, cfg) != nil; level.Level() != c.then || reloads != c.reloads {
			t.Errorf("%v: goes on at %v, want %v; a reload may set it: %v", c.args, level.Level(), c.then, reloads)
		}
	}
}
