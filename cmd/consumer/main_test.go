package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/helptext"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const pipelineFile = `pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
metrics: { listen: "" }
`

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipeline.yaml")
	must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func call(args ...string) (code cli.Exit, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestExitCodes_S4_12(t *testing.T) {
	good := file(t, pipelineFile)
	bad := file(t, "pipeline: { id: a b, retry_policy: { max_attempts: 0 } }\n")
	warned := file(t, pipelineFile+"enrich: [{name: a, http: {url: \"http://10.0.0.1/\"}, set: {a: /a}}]\n")
	for _, c := range []struct {
		name           string
		args           []string
		code           cli.Exit
		stdout, stderr string
	}{
		{"no command shows help", nil, 0, "consumer demo", ""},
		{"the help explains the exit codes", []string{"--help"}, 0, "6  the pipeline is paused", ""},
		{"version", []string{"--version"}, 0, "consumer ", ""},
		{"unknown command", []string{"replay"}, 2, "", `unknown command "replay"`},
		{"mistyped command", []string{"validte", "-c", good}, 2, "", "unknown command \"validte\" for `consumer`; did you mean validate?"},
		{"mistyped command of a group", []string{"topics", "chck", "-c", good}, 2, "", "unknown command \"chck\" for `consumer topics`; did you mean check?"},
		{"unknown flag", []string{"run", "--fast"}, 2, "", "--fast"},
		{"stray word", []string{"validate", "-c", good, "now"}, 2, "", `"now" by the argument; name one`},
		{"two stray words", []string{"validate", good, "now"}, 2, "", `unexpected word "` + good + ` now"`},
		{"a stray word for a command without a file", []string{"version", "now"}, 2, "", `unexpected word "now"`},
		{"no file given", []string{"run"}, 2, "", "no pipeline file is named"},
		{"file that is not there", []string{"run", "-c", "nowhere.yaml"}, 2, "", "nowhere.yaml"},
		{"valid file", []string{"validate", "-c", good}, 0, "valid, 0 warnings", ""},
		{"every fault of a file", []string{"validate", "-c", bad}, 2, "", "faults"},
		{"a valid file, strictly", []string{"validate", "-c", good, "--strict"}, 0, "valid, 0 warnings", ""},
		{"a warning", []string{"validate", "-c", warned}, 0, "valid, 1 warning", "is not a public address"},
		{"a warning, strictly", []string{"validate", "-c", warned, "--strict"}, 4, "valid, 1 warning", "--strict allows none"},
		{"the reaction to every error, S4-3", []string{"validate", "-c", good, "--explain-errors"}, 0, "http_not_found", ""},
		{"the same for programs, S4-3", []string{"validate", "-c", good, "--explain-errors", "-o", "json"}, 0, `"code": "db_conflict"`, ""},
		{"errors in a wrong format", []string{"validate", "-c", good, "--explain-errors", "-o", "xml"}, 2, "", "table, json, ndjson"},
		{"a valid file for programs", []string{"validate", "-c", good, "-o", "ndjson"}, 0, `"valid":true,"faults":[],"warnings":[]`, ""},
		{"faults for programs", []string{"validate", "-c", bad, "-o", "json"}, 2, `"path": "pipeline.id"`, "faults"},
		{"a wrong format without anything to explain", []string{"validate", "-c", good, "-o", "xml"}, 2, "", "table, json, ndjson"},
		{"describe", []string{"describe", "-c", good}, 0, "parcels.retry-60s", ""},
		{"a summary that cannot be written", []string{"run", "-c", good, "--summary", filepath.Join(t.TempDir(), "no", "s.json")}, 2, "", "no such file or directory"},
		{"a summary that is a folder", []string{"run", "-c", good, "--summary", t.TempDir()}, 2, "", "is a folder"},
		{"an address for the metrics that is none", []string{"run", "-c", good, "--metrics", "nonsense"}, 2, "", "is not host:port"},
		{"a demo of fewer events than none", []string{"demo", "-n", "-5"}, 2, "", "--events -5"},
		{"a demo on a port that is none", []string{"demo", "--port", "99999"}, 2, "", "--port 99999: ports range from 1 to 65535"},
		{"a limit of a run without an end", []string{"run", "-c", good, "--sla", "10m"}, 2, "", "--until-end"},
		{"a limit that is not a share", []string{"run", "-c", good, "--until-end", "--max-dlq-rate", "5"}, 2, "", "0 to 1"},
		{"an order without a reason", []string{"pause", "-c", good}, 2, "", "--reason"},
		{"status in a wrong format", []string{"status", "-c", good, "-o", "xml"}, 2, "", "table, json, ndjson"},
		{"verify of a partition that is none", []string{"verify", "records", "-c", good, "--partition", "-7"}, 2, "", "--partition -7"},
		{"verify of offsets that are none", []string{"verify", "records", "-c", good, "--from", "9", "--to", "3"}, 2, "", "--to after --from"},
		{"verify in no time", []string{"verify", "records", "-c", good, "--timeout", "-1s"}, 2, "", "--timeout"},
		{"verify without memory", []string{"verify", "records", "-c", good, "--max-positions", "0"}, 2, "", "--max-positions"},
		{"verify with an unnamed limit", []string{"verify", "records", "-c", good, "--limit", "-1"}, 2, "", "--limit"},
		{"wrong output format", []string{"topics", "check", "-c", good, "-o", "xml"}, 2, "", "table, json, ndjson"},
	} {
		code, stdout, stderr := call(c.args...)
		expect.That(t, code == c.code && strings.Contains(stdout, c.stdout) && strings.Contains(stderr, c.stderr), "%s: exit %d, want %d\nstdout %s\nstderr %s", c.name, code, c.code, stdout, stderr)
	}
}

func TestRun_brokerUnreachableIsOneLineAndExit1(t *testing.T) {
	name := file(t, pipelineFile+"kafka: { brokers: [\"127.0.0.1:1\"] }\n")
	code, _, stderr := call("run", "-c", name)
	expect.That(t, code == 1 && strings.Contains(stderr, "cannot reach Kafka at 127.0.0.1:1") && !strings.Contains(stderr, "goroutine"), "exit %d: %s", code, stderr)
}

// The demo refuses to start its broker if real brokers are configured.
func TestDemo_besideRealBrokersIsAWrongCall(t *testing.T) {
	t.Setenv("SWITCHBACK_KAFKA_BROKERS", "kafka.example:9092")
	code, _, stderr := call("demo", "--port", "0", "--metrics", "")
	expect.That(t, code == 2 && strings.Contains(stderr, "kafka.example:9092") && strings.Contains(stderr, "unset SWITCHBACK_KAFKA_BROKERS"), "exit %d: %s", code, stderr)
}

// Some programs (timeout, some supervisors) send the signal to a process and to its group, so it arrives twice. Both
// count as one signal.
func TestSignals_S4_12_oneThatComesTwiceAtOnceIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left []int
		s := &signals{ch: make(chan os.Signal, 2), leave: func(code int) { left = append(left, code) }}
		s.ctx, s.cancel = context.WithCancelCause(t.Context())
		var said bytes.Buffer
		go s.watch(&said)
		s.ch <- syscall.SIGTERM
		s.ch <- syscall.SIGTERM
		synctest.Wait()
		must.That(t, s.ctx.Err() != nil && s.terminated() && len(left) == 0, "after one signal, sent twice: left %v, %s", left, &said)
		time.Sleep(time.Second)
		s.ch <- syscall.SIGTERM
		synctest.Wait()
		expect.That(t, len(left) == 1 && left[0] == 143 && strings.Contains(said.String(), "exited at once"), "after a second signal: left %v, %s", left, &said)
		close(s.ch)
	})
}

// A process that hangs after a signal exits after engine.shutdown_timeout.
func TestSignals_S4_12_aProcessThatHangsEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left, last atomic.Int64
		s := &signals{leave: func(code int) { left.Add(1); last.Store(int64(code)) }}
		s.ctx, s.cancel = context.WithCancelCause(t.Context())
		var said bytes.Buffer
		ended := s.within(10*time.Second, &said)
		time.Sleep(time.Hour)
		synctest.Wait()
		must.That(t, left.Load() == 0, "exited before the signal")
		s.cancel(signalError{syscall.SIGTERM})
		time.Sleep(10*time.Second - time.Millisecond)
		synctest.Wait()
		must.That(t, left.Load() == 0, "it left too early")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		expect.That(t, left.Load() == 1 && last.Load() == 1 && strings.Contains(said.String(), "engine.shutdown_timeout (10s)"), "left %d times, last with %d: %s", left.Load(), last.Load(), &said)
		ended()
		s.ctx, s.cancel = context.WithCancelCause(t.Context())
		ended = s.within(10*time.Second, &said)
		s.cancel(signalError{syscall.SIGTERM})
		ended()
		time.Sleep(time.Hour)
		synctest.Wait()
		expect.That(t, left.Load() == 1, "it left although the work had ended")
	})
}

func TestTypos_ofFlagsSuggest(t *testing.T) {
	for flag, want := range map[string]string{
		"sink rekey --dry-run":    "a dry run is the default: leave --dry-run out; --execute makes the change",
		"topics ensure --dry-run": "see `consumer topics ensure --help`", // it creates topics at once
		"run --untilend":          "did you mean --until-end?",
		"validate --conf x":       "did you mean --config?",
	} {
		code, _, stderr := call(strings.Fields(flag)...)
		expect.That(t, code == 2 && strings.Contains(stderr, want), "%s: exit %d: %s", flag, code, stderr)
	}
}

// Every command is in a group of the help, and has an example with valid flags.
func TestHelp_everyCommandHasAGroupAndAnExample(t *testing.T) {
	signals := listen(io.Discard)
	defer signals.close()
	for _, fault := range helptext.Faults(newRoot(signals)) {
		t.Error(fault)
	}
}

func TestSchema_S0_1_printsThePublishedOne(t *testing.T) {
	want := must.Get(os.ReadFile("../../schemas/pipeline.schema.json"))(t)
	code, stdout, stderr := call("schema")
	expect.That(t, code == 0 && stdout == string(want) && stderr == "", "exit %d, %d bytes of %d\n%s", code, len(stdout), len(want), stderr)
	expect.That(t, json.Valid([]byte(stdout)), "it is no JSON")
	code, _, stderr = call("schema", "now")
	expect.That(t, code == 2 && strings.Contains(stderr, `unexpected word "now"`), "exit %d: %s", code, stderr)
}

// On a full disk, the command must not succeed after writing half a schema.
func TestSchema_saysWhenItCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full to write to:", err)
	}
	defer full.Close()
	var errs strings.Builder
	code := run([]string{"schema"}, full, &errs)
	expect.That(t, code == 1 && strings.Contains(errs.String(), "print the schema"), "exit %d: %s", code, &errs)
}

// -v has the same meaning in every command.
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
		must.Do(t, err)
		must.Do(t, cmd.ParseFlags(c.args))
		_, level, err := cli.NewLogger(io.Discard, firstLevel(cmd))
		expect.That(t, err == nil && level.Level() == c.before, "%v: begins at %v, want %v (%v)", c.args, level.Level(), c.before, err)
		reloads := fileLevel(cmd, level, cfg) != nil
		expect.That(t, level.Level() == c.then && reloads == c.reloads, "%v: continues at %v, want %v; changed by a reload: %v", c.args, level.Level(), c.then, reloads)
	}
}

func TestPipelineFile_byFlagArgumentAndEnvironment(t *testing.T) {
	good, other := file(t, pipelineFile), file(t, strings.Replace(pipelineFile, "parcels", "roads", 1))
	for _, c := range []struct {
		name, env string
		args      []string
		code      cli.Exit
		want      string // in both outputs
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
		{"the argument of transform is not a pipeline", "", []string{"transform", good}, 2, "accepts flags only: name the pipeline file with -c"},
		{"nor does verify audit, which reads ledgers too", "", []string{"verify", "audit", good}, 2, "accepts flags only: name the pipeline file with -c"},
		{"its help does not promise it", "", []string{"verify", "audit", "--help"}, 0, "pipeline file (YAML); also by SWITCHBACK_CONFIG\n"},
		{"a command without a pipeline file does not mention one", "", []string{"version", good}, 2, "accepts flags only\n"},
		{"a file that the environment names and is not there", "nowhere.yaml", []string{"validate"}, 2, "nowhere.yaml"},
		{"a ledger that is named is meant", good, []string{"verify", "audit", "--ledger", "nowhere.json"}, 2, "nowhere.json"},
		{"two ledgers", "", []string{"verify", "audit", "--ledger", "l.json", "-c", good}, 2, "two audit trails"},
		{"a command that needs none does not require one", "nowhere.yaml", []string{"version"}, 0, "commit"},
		{"the help describes it", "", []string{"--help"}, 0, "from -c FILE, from an argument"},
		{"so does the help of a command", "", []string{"describe", "--help"}, 0, "also as an argument, or by"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("SWITCHBACK_CONFIG", c.env)
			code, stdout, stderr := call(c.args...)
			expect.That(t, code == c.code && strings.Contains(stdout+stderr, c.want), "exit %d, want %d and %s\nstdout %s\nstderr %s", code, c.code, c.want, stdout, stderr)
		})
	}
}

// A command that defines its own flag -c would lack the two other ways to select the file.
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
			t.Errorf("%s has -c, but not through configFlag", cmd.CommandPath())
			continue
		}
		err := cmd.PreRunE(cmd, nil)
		expect.That(t, err != nil && strings.Contains(err.Error(), "SWITCHBACK_CONFIG"), "%s without a file: %v", cmd.CommandPath(), err)
	}
	expect.That(t, seen >= 15, "only %d commands have -c", seen)
}

// A container's health check works, even if the instance listens on all addresses.
func TestHealth(t *testing.T) {
	t.Parallel()
	why := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || why != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(why + "\n"))
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	must.Do(t, err)
	for _, c := range []struct {
		address, why string
		code         cli.Exit
		says         string
	}{
		{address: "127.0.0.1:" + port},
		{address: "0.0.0.0:" + port},
		{address: ":" + port},
		{address: "127.0.0.1:" + port, why: "no member of its group", code: 1, says: "not ready: no member of its group"},
		{address: "127.0.0.1:1", code: 1, says: "does not answer"},
		{address: "nonsense", code: 2, says: "is not a host:port"},
		{address: "", code: 2, says: "metrics.listen"},
	} {
		why = c.why
		err := ready(t.Context(), c.address, io.Discard)
		expect.That(t, exitCode(err) == c.code && (err == nil || strings.Contains(err.Error(), c.says)), "%+v: %v", c, err)
	}
}
