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

// C-4, S4-6, S4-8: the whole of an operator's work on dead letters, on one broker. A plan; its canary; the replayer killed while it waits
// for the verdict; a second operator who goes on with the same plan; a discard that turns out to be wrong and is undone; and an audit
// trail that tells who did what, and that nothing was changed in it.
func TestStory_C4_S4_6_S4_8(t *testing.T) {
	beside(t, testrun.Proof)
	const n = 12
	p := newPipe(t, 3*time.Minute).ensure()
	p.dead(n)
	file := filepath.Join(t.TempDir(), "plan.jsonl")
	call := func(code int, says string, args ...string) proc.Result {
		t.Helper()
		r := p.run("replayer", append(args, "-c", p.file)...)
		must.That(t, r.Code == code && strings.Contains(r.Stdout+r.Stderr, says), "replayer %s: want exit code %d and %q: %s", strings.Join(args, " "), code, says, r)
		return r
	}
	call(0, "The plan is fix", "plan", "-f", file, "--replay-id", "fix", "--limit", "10", "--actor", "ana")

	must.That(t, p.canary("ana", n, "--plan", file).Kill(), "the replayer had ended before it was killed")
	call(0, `"already":2`, "replay", "--plan", file, "--execute", "--reason", "ana was cut off", "--actor", "bo", "--wait-for-lease", "1m")
	p.drain()
	p.wantStates(10, "reprocessed")

	var discarded struct{ ID string }
	said := call(0, `"changed":2`, "discard", "--all", "--execute", "--reason", "not wanted", "--actor", "bo")
	must.Do(t, json.Unmarshal([]byte(said.Stdout), &discarded))
	call(exitNothing, "", "replay", "--all", "--execute", "--reason", "x", "--actor", "ana")
	call(0, `"changed":2`, "undo", discarded.ID, "--execute", "--reason", "they are wanted", "--actor", "ana")
	call(0, `"reinjected":2`, "replay", "--all", "--execute", "--reason", "the last two", "--actor", "ana")
	p.drain().balances(t)

	wantTotals(t, p.verify(), n, conservation.Place{Letters: n, Replays: n, Output: n})
	p.wantStates(n, "reprocessed")
	for _, line := range []string{"AREA mapped", "ana was cut off", "not wanted", "they are wanted", "the last two"} {
		call(0, line, "audit", "--operations")
	}
	r := p.run("consumer", "verify", "audit", "-c", p.file)
	expect.That(t, r.Code == 0, "the audit trail: %s", r)
	r = p.run("consumer", "verify", "records", "-c", p.file)
	expect.That(t, r.Code == 0 && strings.Contains(r.Stdout, "PROVEN"), "the records: %s", r)
}

// canary starts a replay that waits for the consumer's verdict on its first two dead letters, and waits until these are sent.
func (p *pipe) canary(by string, before int, which ...string) *proc.Process {
	p.t.Helper()
	source := p.log.Tail(p.t, p.topics.Source)
	first := proc.Start(p.t, p.spec("replayer", append([]string{"replay", "-c", p.file, "--canary", "2", "--execute", "--reason", "AREA mapped", "--actor", by}, which...)...))
	source.UntilCount(p.ctx, p.t, "the canary", before+2)
	return first
}

// types runs one command with the pipeline file and wants its exit code and, in what it prints, these words.
func (p *pipe) types(code int, command string, says ...string) proc.Result {
	p.t.Helper()
	words := strings.Fields(command)
	var args []string
	for _, word := range words[1:] { // + is a space within a word
		args = append(args, strings.ReplaceAll(word, "+", " "))
	}
	r := p.run(words[0], append(args, "-c", p.file)...)
	must.That(p.t, r.Code == code, "%s: want exit code %d: %s", command, code, r)
	for _, word := range says {
		expect.That(p.t, strings.Contains(r.Stdout+r.Stderr, word), "%s does not say %q: %s", command, word, r)
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

// readsMetres fixes the mapping in the pipeline file.
func (p *pipe) readsMetres() {
	p.t.Helper()
	text := must.Get(os.ReadFile(p.file))(p.t)
	const was = "{ from: level, to: level, type: integer }"
	now := `{ to: level, type: integer, expr: 'int(trimSuffix(string(properties.level), " m"))' }`
	must.That(p.t, strings.Contains(string(text), was), "the pipeline file has another mapping")
	must.Do(p.t, os.WriteFile(p.file, []byte(strings.Replace(string(text), was, now, 1)), 0o644))
}

// S4-8: the mapping is fixed in the file, and the instances still run the former one. Nothing goes back until they were restarted; what is
// said follows the group, also when a static member comes back under its name without a rebalance.
func TestMapping_S4_8_nothingGoesBackToInstancesWithAnotherOne(t *testing.T) {
	beside(t, testrun.Fast)
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
			p.announced("one", "two")
			p.types(0, "consumer status", "2 instances are running")
			p.readsMetres()
			var dead struct{ ID string }
			line, _, _ := strings.Cut(p.types(0, "replayer list -o ndjson --limit 1").Stdout, "\n")
			must.Do(t, json.Unmarshal([]byte(line), &dead))
			p.types(0, "replayer show "+dead.ID+" -o ndjson", `"today":{"passes":true}`, `"instances":["one","two"]`, `"verdict":{"passes":false`)

			const replay = "replayer replay --all --execute --reason level+in+metres+is+read --wait"
			p.types(exitRefused, "replayer replay --all", "DIFFERENT", "one", "two")
			p.types(exitRefused, replay, "refused", "--mapping-differs")
			p.replaced(first, "one")
			p.announced("one", "two")
			p.types(exitRefused, replay, "refused", "instance one", "the same", "DIFFERENT")
			p.replaced(first, "two")
			p.announced("one", "two")
			p.types(0, replay, `"reinjected":20`)
			p.log.Tail(t, p.topics.Output).UntilCount(p.ctx, t, "the outputs", 20)
			for _, consumer := range first {
				p.stop(consumer)
			}
			p.verify()
		})
	}
}

// started is what an instance says once it is at work.
var started = regexp.MustCompile(`"msg":"consumer started"`)

// replaced lets an instance start again with the file as it is now, and waits until the group knows the new process: a static
// member keeps what its former process announced until it has joined.
func (p *pipe) replaced(running map[string]*proc.Process, name string) {
	p.t.Helper()
	line := func() string {
		for l := range strings.SplitSeq(p.announced(slices.Collect(maps.Keys(running))...), "\n") {
			if announces(l, name) {
				return l
			}
		}
		return ""
	}
	before := line()
	running[name].Signal(p.t, syscall.SIGTERM)
	r := running[name].Wait(p.ctx, p.t)
	must.That(p.t, r.Code == 0, "the instance that is replaced: %s", r)
	running[name] = p.start(name)
	running[name].WaitFor(p.ctx, p.t, running[name].Stderr, started)
	eventually.Until(p.ctx, p.t, "the new process in the group", func() (bool, string) {
		now := line() // it listens at another port
		return now != before, now
	})
}

// announces reports whether `consumer status` lists an instance. Its columns are as wide as the longest word asks.
func announces(told, name string) bool {
	return strings.Contains(strings.Join(strings.Fields(told), " "), "instance "+name+" at ")
}

// announced waits until the group is stable, and `consumer status` says which mapping these instances run.
func (p *pipe) announced(names ...string) string {
	p.t.Helper()
	var told string
	eventually.Until(p.ctx, p.t, "what the instances announce", func() (bool, string) {
		r := p.run("consumer", "status", "-c", p.file, "-o", "table")
		told = r.Stdout + r.Stderr
		for _, name := range names {
			if !announces(told, name) {
				return false, told
			}
		}
		return !strings.Contains(told, "unknown"), told
	})
	return told
}
