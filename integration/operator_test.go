package integration

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// C-4, S4-6, S4-8: an operator's complete work on dead letters, on one broker. A plan and its canary; the replayer is
// killed while it waits for the canary's outcome; a second operator continues the plan; a mistaken discard is undone;
// and the audit trail has who did what, and verifies.
func TestStory_C4_S4_6_S4_8(t *testing.T) {
	parallel(t, testrun.Proof)
	const n = 12
	p := newPipe(t, 3*time.Minute).ensure()
	p.makeDead(n)
	file := filepath.Join(t.TempDir(), "plan.jsonl")
	call := func(code int, says string, args ...string) proc.Result {
		t.Helper()
		r := p.run("replayer", append(args, "-c", p.file)...)
		must.That(t, r.Code == code && strings.Contains(r.Stdout+r.Stderr, says), "replayer %s: want exit code %d and %q: %s", strings.Join(args, " "), code, says, r)
		return r
	}
	call(0, "The plan is fix", "plan", "-f", file, "--replay-id", "fix", "--limit", "10", "--actor", "ana")

	must.That(t, p.startCanary("ana", n, "--plan", file).Kill(), "the replayer exited before it was killed")
	call(0, `"already":2`, "replay", "--plan", file, "--execute", "--reason", "ana was cut off", "--actor", "bo", "--wait-for-lease", "1m")
	p.drain()
	p.wantStates(10, "reprocessed")

	var discarded struct{ ID string }
	result := call(0, `"changed":2`, "discard", "--all", "--execute", "--reason", "not wanted", "--actor", "bo")
	must.Do(t, json.Unmarshal([]byte(result.Stdout), &discarded))
	call(exitNothing, "", "replay", "--all", "--execute", "--reason", "x", "--actor", "ana")
	call(0, `"changed":2`, "undo", discarded.ID, "--execute", "--reason", "they are wanted", "--actor", "ana")
	call(0, `"reinjected":2`, "replay", "--all", "--execute", "--reason", "the last two", "--actor", "ana")
	p.drain().wantBalanced(t)

	wantTotals(t, p.verify(), n, conservation.Place{DeadLetters: n, Replays: n, Output: n})
	p.wantStates(n, "reprocessed")
	for _, line := range []string{"AREA mapped", "ana was cut off", "not wanted", "they are wanted", "the last two"} {
		call(0, line, "audit", "--operations")
	}
	r := p.run("consumer", "verify", "audit", "-c", p.file)
	expect.That(t, r.Code == 0, "the audit trail: %s", r)
	r = p.run("consumer", "verify", "records", "-c", p.file)
	expect.That(t, r.Code == 0 && strings.Contains(r.Stdout, "PROVEN"), "the records: %s", r)
}

// startCanary starts a replay with a canary of two dead letters, and waits until these are reinjected.
func (p *pipe) startCanary(by string, before int, which ...string) *proc.Process {
	p.t.Helper()
	source := p.log.Tail(p.t, p.topics.Source)
	first := proc.Start(p.t, p.spec("replayer", append([]string{"replay", "-c", p.file, "--canary", "2", "--execute", "--reason", "AREA mapped", "--actor", by}, which...)...))
	source.UntilCount(p.ctx, p.t, "the canary", before+2)
	return first
}

// runCommand runs a command with the pipeline file, and checks its exit code and parts of its output.
func (p *pipe) runCommand(code int, command string, says ...string) proc.Result {
	p.t.Helper()
	words := strings.Fields(command)
	var args []string
	for _, word := range words[1:] { // a plus sign is a space within an argument
		args = append(args, strings.ReplaceAll(word, "+", " "))
	}
	r := p.run(words[0], append(args, "-c", p.file)...)
	must.That(p.t, r.Code == code, "%s: want exit code %d: %s", command, code, r)
	for _, word := range says {
		expect.That(p.t, strings.Contains(r.Stdout+r.Stderr, word), "%s does not print %q: %s", command, word, r)
	}
	return r
}

// sendInMetres sends features whose level is a text with a unit.
func (p *pipe) sendInMetres(ids []string) {
	p.t.Helper()
	records := p.records(ids...)
	for _, r := range records {
		r.Value = []byte(strings.Replace(string(r.Value), `"level": 3`, `"level": "12 m"`, 1))
	}
	p.sendRecords(records...)
}

// fixMapping fixes the mapping in the pipeline file.
func (p *pipe) fixMapping() {
	p.t.Helper()
	text := must.Get(os.ReadFile(p.file))(p.t)
	const was = "{ from: level, to: level, type: integer }"
	now := `{ to: level, type: integer, expr: 'int(trimSuffix(string(properties.level), " m"))' }`
	must.That(p.t, strings.Contains(string(text), was), "the pipeline file does not have the expected mapping")
	must.Do(p.t, os.WriteFile(p.file, []byte(strings.Replace(string(text), was, now, 1)), 0o644))
}

// S4-8: the mapping is fixed in the file, but the instances still run the old one. A replay is refused until all
// instances were restarted. The comparison follows the group, also when a static member returns under its name without a
// rebalance.
func TestMapping_S4_8_nothingGoesBackToInstancesWithAnotherOne(t *testing.T) {
	parallel(t, testrun.Fast)
	for name, static := range map[string]bool{"static": true, "dynamic": false} {
		t.Run(name, func(t *testing.T) {
			if !static {
				testrun.Nightly(t)
			}
			t.Parallel()
			p := newPipe(t, 2*time.Minute, func(s *settings) { s.Static = static }).ensure()
			p.sendInMetres(ids("metres", 20))
			first := map[string]*proc.Process{"one": p.start("one"), "two": p.start("two")}
			p.log.Tail(t, p.topics.DLQ).UntilCount(p.ctx, t, "the dead letters", 20)
			p.untilAnnounced("one", "two")
			p.runCommand(0, "consumer status", "2 instances are running")
			p.fixMapping()
			var dead struct{ ID string }
			line, _, _ := strings.Cut(p.runCommand(0, "replayer list -o ndjson --limit 1").Stdout, "\n")
			must.Do(t, json.Unmarshal([]byte(line), &dead))
			p.runCommand(0, "replayer show "+dead.ID+" -o ndjson", `"today":{"passes":true}`, `"instances":["one","two"]`, `"verdict":{"passes":false`)

			const replay = "replayer replay --all --execute --reason level+in+metres+is+read --wait"
			p.runCommand(exitRefused, "replayer replay --all", "DIFFERENT", "one", "two")
			p.runCommand(exitRefused, replay, "refused", "--mapping-differs")
			p.restart(first, "one")
			p.untilAnnounced("one", "two")
			p.runCommand(exitRefused, replay, "refused", "instance one", "the same", "DIFFERENT")
			p.restart(first, "two")
			p.untilAnnounced("one", "two")
			p.runCommand(0, replay, `"reinjected":20`)
			p.log.Tail(t, p.topics.Output).UntilCount(p.ctx, t, "the outputs", 20)
			for _, consumer := range first {
				p.stop(consumer)
			}
			p.verify()
		})
	}
}

// started matches the log line of an instance that has started.
var started = regexp.MustCompile(`"msg":"consumer started"`)

// restart restarts an instance with the current file, and waits until the group has the new process. Until a static
// member has rejoined, the group returns the announcement of its previous process.
func (p *pipe) restart(running map[string]*proc.Process, name string) {
	p.t.Helper()
	line := func() string {
		for l := range strings.SplitSeq(p.untilAnnounced(slices.Collect(maps.Keys(running))...), "\n") {
			if listsInstance(l, name) {
				return l
			}
		}
		return ""
	}
	before := line()
	running[name].Signal(p.t, syscall.SIGTERM)
	r := running[name].Wait(p.ctx, p.t)
	must.That(p.t, r.Code == 0, "the restarted instance: %s", r)
	running[name] = p.start(name)
	running[name].WaitFor(p.ctx, p.t, running[name].Stderr, started)
	eventually.Until(p.ctx, p.t, "the new process in the group", func() (bool, string) {
		now := line() // contains the port, which differs for each process
		return now != before, now
	})
}

// listsInstance reports whether `consumer status` lists an instance. The widths of its columns vary.
func listsInstance(status, name string) bool {
	return strings.Contains(strings.Join(strings.Fields(status), " "), "instance "+name+" at ")
}

// untilAnnounced waits until the group is stable and `consumer status` lists the mappings of these instances.
func (p *pipe) untilAnnounced(names ...string) string {
	p.t.Helper()
	var status string
	eventually.Until(p.ctx, p.t, "the announcements of the instances", func() (bool, string) {
		r := p.run("consumer", "status", "-c", p.file, "-o", "table")
		status = r.Stdout + r.Stderr
		for _, name := range names {
			if !listsInstance(status, name) {
				return false, status
			}
		}
		return !strings.Contains(status, "unknown"), status
	})
	return status
}
