package integration

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// C-4, S4-6, S4-8: the whole of an operator's work on dead letters, on one broker. A plan; its canary; the replayer killed while it waits
// for the verdict; a second operator who goes on with the same plan; a discard that turns out to be wrong and is undone; and an audit
// trail that tells who did what, and that nothing was changed in it.
func TestStory_C4_S4_6_S4_8(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
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
	if err := json.Unmarshal([]byte(said.Stdout), &discarded); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	call(exitNothing, "", "replay", "--all", "--execute", "--reason", "x", "--actor", "ana")
	call(0, `"changed":2`, "undo", discarded.ID, "--execute", "--reason", "they are wanted", "--actor", "ana")
	call(0, `"reinjected":2`, "replay", "--all", "--execute", "--reason", "the last two", "--actor", "ana")
	p.drain().balances(t)

	wantTotals(t, p.verify(), n, conservation.Place{Letters: n, Replays: n, Output: n})
	p.wantStates(n, "reprocessed")
	for _, line := range []string{"AREA mapped", "ana was cut off", "not wanted", "they are wanted", "the last two"} {
		call(0, line, "audit", "--operations")
	}
	if r := p.run("consumer", "verify", "audit", "-c", p.file); r.Code != 0 {
		t.Errorf("the audit trail: %s", r)
	}
	if r := p.run("consumer", "verify", "records", "-c", p.file); r.Code != 0 || !strings.Contains(r.Stdout, "PROVEN") {
		t.Errorf("the records: %s", r)
	}
}

// canary starts a replay that waits for the consumer's verdict on its first two dead letters, and waits until these are sent.
func (p *pipe) canary(by string, before int, which ...string) *proc.Process {
	p.t.Helper()
	source := p.log.Tail(p.t, p.topics.Source)
	first := proc.Start(p.t, p.spec("replayer", append([]string{"replay", "-c", p.file, "--canary", "2", "--execute", "--reason", "AREA mapped", "--actor", by}, which...)...))
	source.UntilCount(p.ctx, p.t, "the canary", before+2)
	return first
}
