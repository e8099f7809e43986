package integration

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// replayerRows are the commands of the replayer, and a replay that loses each of its permissions while it runs.
func replayerRows(t *testing.T, kafka *guarded) []row {
	t.Helper()
	rows := []row{{"replayer/read", testReplayerReads}, {"replayer/write", testReplayerWrites}, {"replayer/any DLQ", testAnyDLQ}}
	all, names := tableOf(t, kafka, acls.RoleReplayerWrite)
	for i, p := range all {
		if p.op == acls.Write && p.grant.When(p.op) == acls.Always && !strings.HasSuffix(p.grant.Name, ".dlq") { // edits alone write to the DLQ
			rows = append(rows, row{"replayer/running, " + names[i], func(t *testing.T, kafka *guarded) { testReplayLoses(t, kafka, i) }})
		}
	}
	return rows
}

// testReplayerReads runs every command that changes nothing.
func testReplayerReads(t *testing.T, kafka *guarded) {
	w := newWard(t, kafka)
	w.asAdmin(func() {
		w.dead(4)
		w.replay("--execute", "--limit", "1", "--replay-id", "first")
	})
	id := value(w.read(w.topics.DLQ)[3], "switchback-dead-letter-id")
	d := &duty{ward: w, role: acls.RoleReplayerRead}
	d.further = func() [][]string {
		file := filepath.Join(t.TempDir(), "plan.jsonl")
		return [][]string{
			{"replayer", "groups"},
			{"replayer", "list", "--details"},
			{"replayer", "show", id},
			{"replayer", "stats"},
			{"replayer", "replays", "first"},
			{"replayer", "audit"},
			{"replayer", "export"},
			{"replayer", "plan", "-f", file},
			{"replayer", "replay"},
			{"replayer", "replay", "--plan", file},
			{"replayer", "discard"},
			{"replayer", "reopen", "--status", "discarded"},
			{"replayer", "edit", "--set", "properties.level=4"},
			{"replayer", "prune", "--older-than", "30d"},
			{"replayer", "acls", "--principal", "User:somebody"},
		}
	}
	d.test()
	wantTotals(t, w.verify(), 4, conservation.Place{Letters: 4, Replays: 1, Unread: 1})
}

// testReplayerWrites runs every command that changes something.
func testReplayerWrites(t *testing.T, kafka *guarded) {
	const n = 200
	w := newWard(t, kafka)
	w.asAdmin(func() {
		w.dead(n)
		if err := w.log.Delete(w.ctx, w.set.ID+".control"); err != nil { // the first replay makes a key
			t.Fatal(err)
		}
		w.log = topiclog.Connect(t, w.log.Addrs())
		w.run("consumer", "topics", "ensure", "-c", w.file)
	})
	letters := w.read(w.topics.DLQ)
	d := &duty{ward: w, role: acls.RoleReplayerWrite}
	last := len(letters)
	next := func() string {
		last--
		return value(letters[last], "switchback-dead-letter-id")
	}
	d.further = func() [][]string {
		reopened, file := next(), filepath.Join(t.TempDir(), "plan.jsonl")
		return [][]string{
			{"replayer", "replay", "--execute", "--reason", "a test", "--id", next()},
			{"replayer", "discard", "--execute", "--reason", "a test", "--status", "pending", "--limit", "1"},
			{"replayer", "prune", "--execute", "--reason", "a test", "--older-than", "1ms"},
			{"replayer", "discard", "--execute", "--reason", "a test", "--id", reopened},
			{"replayer", "reopen", "--execute", "--reason", "a test", "--id", reopened},
			{"replayer", "reopen", "--lost"},
			{"replayer", "edit", "--execute", "--reason", "a test", "--set", "properties.level=4", "--id", next()},
			{"replayer", "plan", "-f", file, "--id", next()},
			{"replayer", "replay", "--plan", file, "--execute", "--reason", "a test"},
		}
	}
	d.test()
	w.asAdmin(func() {
		if r := w.run("consumer", "verify", "audit", "-c", w.file); r.Code != 0 {
			t.Errorf("the audit trail: %s", r)
		}
	})
}

// testReplayLoses takes a permission from a replay that runs. It says so and ends; given again once the permission is back, it puts back what
// is left, and nothing twice.
func testReplayLoses(t *testing.T, kafka *guarded, i int) {
	const n = 30
	w := newWard(t, kafka)
	w.asAdmin(func() { w.dead(n) })
	all := w.printed(acls.RoleReplayerWrite)
	w.grant(all...)
	source := w.log.Tail(t, w.topics.Source)
	args := []string{"replay", "-c", w.file, "--all", "--execute", "--reason", "a test"}
	p := proc.Start(t, w.spec("replayer", append(slices.Clone(args), "--rate", "4/s")...))
	source.UntilCount(w.ctx, t, "some replays", n+1)
	w.take(all[i])
	r := p.Wait(w.ctx, t)
	if wanted := w.denial(all[i]); r.Code != exitPartly || !wanted.MatchString(r.Stderr) {
		t.Errorf("it does not say %q: %s", wanted, r)
	}
	w.grant(all[i])
	if r := w.run("replayer", args...); r.Code != 0 {
		t.Errorf("once more: %s", r)
	}
	times := map[string]int{}
	source.Until(w.ctx, t, "every replay", func(seen []*kgo.Record) bool { return len(seen) >= 2*n })
	for _, r := range source.Seen() {
		times[string(r.Key)]++
	}
	for key, k := range times {
		expect.That(t, k == 2, "%s is in the source %d times, want the event and its replay", key, k)
	}
	w.asAdmin(func() { w.drain() })
	wantTotals(t, w.verify(), n, conservation.Place{Letters: n, Replays: n, Output: n})
}
