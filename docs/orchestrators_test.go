package docs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
)

const orchestrators = "examples/orchestrators"

// python runs the interpreter with this project's folder of examples on its path.
func python(t *testing.T, env []string, args ...string) proc.Result {
	t.Helper()
	env = append(env, "PATH="+binaries+string(os.PathListSeparator)+os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1",
		"PYTHONPATH="+filepath.Join(root, orchestrators), "SWITCHBACK_METRICS_LISTEN=127.0.0.1:0")
	return proc.Run(t.Context(), t, proc.Spec{Path: "/usr/bin/env", Args: append([]string{"python3"}, args...), Env: env})
}

// Every example is Python that compiles.
func TestOrchestrators_S4_12_examplesCompile(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, orchestrators, "*", "*.py"))
	must.That(t, err == nil && len(files) == 3, "found %v, %v", files, err)
	for _, name := range append(files, filepath.Join(root, orchestrators, "switchback_run.py")) {
		res := python(t, nil, "-c", "import ast,sys; compile(ast.parse(open(sys.argv[1]).read(), sys.argv[1]), sys.argv[1], 'exec')", name)
		expect.That(t, res.Code == 0, "%s does not compile: %v", name, res)
	}
}

// ended is the shared part's result of a run.
type ended struct {
	Code    int
	Verdict string
	Summary map[string]any
	Message string
	Lines   int // of the log that were passed on
}

func bounded(t *testing.T, broker, file string, options ...string) ended {
	t.Helper()
	res := python(t, []string{"SWITCHBACK_KAFKA_BROKERS=" + broker}, "-c", `
import json, sys, switchback_run
lines = []
r = switchback_run.run(sys.argv[1], "night-1", timeout=60, log=lines.append, `+strings.Join(options, ", ")+`)
print(json.dumps({"code": r.code, "verdict": r.verdict.value, "summary": r.summary, "message": r.message, "lines": len(lines)}))
`, file)
	var e ended
	err := json.Unmarshal([]byte(res.Stdout), &e)
	must.That(t, err == nil, "%v: %v", err, res)
	return e
}

// The shared part turns real runs into the verdicts that an orchestrator acts upon.
func TestOrchestrators_S4_12_verdictsOfRealRuns(t *testing.T) {
	broker := emptyBroker(t)
	good := filepath.Join(t.TempDir(), "pipeline.yaml")
	must.Do(t, os.WriteFile(good, []byte(whole), 0o600))
	bad := filepath.Join(t.TempDir(), "pipeline.yaml")
	must.Do(t, os.WriteFile(bad, []byte("pipeline: {}\n"), 0o600))
	command := func(args ...string) {
		t.Helper()
		spec := proc.Spec{Path: filepath.Join(binaries, "consumer"), Args: args, Env: []string{"SWITCHBACK_KAFKA_BROKERS=" + broker}}
		res := proc.Run(t.Context(), t, spec)
		must.That(t, res.Code == 0, "consumer %v: %v", args, res)
	}
	command("topics", "ensure", "-c", good)
	e := bounded(t, broker, good)
	expect.That(t, e.Code == 0 && e.Verdict == "done" && e.Summary["run_id"] == "night-1" && e.Summary["status"] == "completed", "a run that completes: %+v", e)
	e = bounded(t, broker, bad)
	expect.That(t, e.Code == 2 && e.Verdict == "wrong" && len(e.Summary) == 0 && e.Message != "", "a wrong file: %+v", e)
	e = bounded(t, "127.0.0.1:1", good)
	expect.That(t, e.Code == 1 && e.Verdict == "again", "a broker that is away: %+v", e)
	spoil(t, broker, "parcels")
	if e := bounded(t, broker, good, "max_dlq_rate=0", `sla="1h"`); e.Code != 4 || e.Verdict != "partly" || e.Summary["dead_lettered"] != 1.0 ||
		e.Summary["limits_exceeded"] == nil || !strings.Contains(e.Message, "exceeds its limits") || e.Lines < 2 {
		t.Errorf("a run beyond its limits: %+v", e)
	}
	spoil(t, broker, "parcels")
	e = bounded(t, broker, good, "max_dlq_rate=1")
	expect.That(t, e.Code == 0 && e.Verdict == "done" && e.Summary["dead_lettered"] == 1.0, "the same with a limit that accepts it: %+v", e)
	command("pause", "-c", good, "--reason", "a person looks at it")
	e = bounded(t, broker, good)
	expect.That(t, e.Code == 6 && e.Verdict == "paused" && strings.Contains(e.Message, "resume"), "a held pipeline: %+v", e)
	res := python(t, nil, "-c", "import switchback_run as s; print([s.VERDICTS.get(c, s.Verdict.AGAIN).value for c in (4, 130, -9)])")
	expect.That(t, strings.TrimSpace(res.Stdout) == "['partly', 'again', 'again']", "partly failed, interrupted, killed: %v", res)
}

// spoil sends a record to the source that dies at once.
func spoil(t *testing.T, broker, topic string) {
	t.Helper()
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(broker), kgo.DefaultProduceTopic(topic)))(t)
	defer client.Close()
	must.Do(t, client.ProduceSync(t.Context(), kgo.StringRecord("no JSON")).FirstErr())
}

// binaries is the folder in which consumer and replayer were built once for all tests.
var binaries string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	var err error
	if binaries, err = os.MkdirTemp("", "switchback-docs-"); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		return 1
	}
	defer os.RemoveAll(binaries)
	if _, err := proc.Build(context.Background(), binaries, "consumer", "replayer"); err != nil {
		fmt.Fprintln(os.Stderr, "docs: build the commands:", err)
		return 1
	}
	return m.Run()
}
