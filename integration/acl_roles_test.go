package integration

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// roleTest runs the commands of one role. It revokes each permission once: one of the commands must then name the
// missing permission, and must not half-apply a change that a later command cannot complete.
type roleTest struct {
	*confinedPipe
	role acls.Role
	// commands run in this order. An earlier one may succeed before a later one is refused.
	commands [][]string
	// newCommands returns the commands of one try if each try needs something new to do. If it is nil, commands is used.
	newCommands func() [][]string
	// before prepares a try. It may be nil.
	before func(permission)
}

// test revokes each permission in turn and grants it again.
func (d *roleTest) test() {
	d.t.Helper()
	all := d.printedPermissions(d.role)
	d.grant(all...)
	// Permissions that only the first run needs come first. The permission that is unused once all work is done comes
	// last.
	slices.SortStableFunc(all, func(a, b permission) int { return revokeOrder(a) - revokeOrder(b) })
	for _, p := range all {
		d.revoke(p)
		if d.before != nil {
			d.before(p)
		}
		d.wantRefused(p)
		d.grant(p)
	}
	d.wantAllowed()
}

func (d *roleTest) commandsForTry() [][]string {
	if d.newCommands != nil {
		return d.newCommands()
	}
	return d.commands
}

func revokeOrder(p permission) int {
	switch {
	case p.grant.When(p.op) == acls.Ordered:
		return 0
	case p.op == acls.Write && strings.HasSuffix(p.grant.Name, ".state"):
		return 2
	}
	return 1
}

// wantAllowed checks that every command works with the granted permissions.
func (d *roleTest) wantAllowed() {
	d.t.Helper()
	for _, args := range d.commandsForTry() {
		r := d.do(args)
		expect.That(d.t, succeeded(r) && (!slices.Contains(args, "--execute") || r.Code == 0), "%s with all printed permissions: %s", strings.Join(args, " "), r)
	}
}

// wantRefused checks that one of the commands fails with an error that names the permission. All commands may succeed if
// they only show less without the permission.
func (d *roleTest) wantRefused(p permission) {
	d.t.Helper()
	wanted := d.denial(p)
	var failures []string
	for _, args := range d.commandsForTry() {
		r := d.do(args)
		if succeeded(r) {
			continue
		}
		if wanted.MatchString(r.Stderr) {
			return
		}
		failures = append(failures, fmt.Sprint(strings.Join(args, " "), ": ", r))
	}
	if len(failures) == 0 && p.grant.When(p.op) == acls.Seen {
		return
	}
	d.t.Errorf("without %s on %s %s, which is printed for %s, no command prints %q: %s", p.op, p.grant.Resource, p.grant.Name, d.role, wanted, strings.Join(failures, "\n"))
}

// succeeded reports whether a command did its work: it may have found nothing to do, or require --execute.
func succeeded(r proc.Result) bool {
	return r.Code == 0 || r.Code == exitNothing || r.Code == exitRefused
}

// do runs a command with a new replayer index, because an existing index contains records that were read before.
func (d *roleTest) do(args []string) proc.Result {
	d.t.Helper()
	spec := d.spec(args[0], append(slices.Clone(args[1:]), "-c", d.file)...)
	spec.Env = []string{"SWITCHBACK_REPLAYER_INDEX_FILE=" + filepath.Join(d.t.TempDir(), "index.sqlite")}
	return proc.Run(d.ctx, d.t, spec)
}

// roleRows are the consumer commands that end on their own.
func roleRows() []row {
	return []row{
		{"consumer/topics", testTopicsRole}, {"consumer/adopt", testAdoptRole}, {"consumer/control", testControlRole},
		{"consumer/status", testStatusRole}, {"consumer/verify", testVerifyRole}, {"consumer/governance", testGovernanceRole},
	}
}

// `topics ensure` needs Create only for a topic that is missing.
func testTopicsRole(t *testing.T, kafka *aclBroker) {
	w := newConfined(t, kafka)
	former := w.set.ID + ".retry-7s" // of an earlier configuration; a record waits in it
	must.Do(t, w.log.Create(w.ctx, former, 1, map[string]string{"retention.ms": "-1"}))
	w.sendRecords(&kgo.Record{Topic: former, Value: []byte(feature("a"))})
	d := &roleTest{confinedPipe: w, role: acls.RoleTopics, commands: [][]string{{"consumer", "topics", "ensure"}}}
	d.before = func(p permission) {
		if p.op != acls.Create {
			return
		}
		must.Do(t, w.log.Delete(w.ctx, p.grant.Name))
	}
	d.test()
	r := d.do([]string{"consumer", "topics", "check"})
	expect.That(t, r.Code == 0 && strings.Contains(r.Stdout+r.Stderr, former), "topics check does not name the former tier %s: %s", former, r)
}

// The adoption has something to do: source and tier are re-created after a run.
func testAdoptRole(t *testing.T, kafka *aclBroker) {
	w := newConfined(t, kafka)
	w.asAdmin(func() {
		w.places.Script("a-1", misbehave.Status(503))
		w.send(ids("a", 5)...)
		w.drain()
		for _, topic := range []string{w.topics.Source, w.topics.Tiers[0]} {
			must.Do(t, w.log.Delete(w.ctx, topic))
		}
		w.log = topiclog.Connect(t, w.log.Addrs()) // the previous client still has the deleted topics' metadata
		w.ensure()
	})
	d := &roleTest{confinedPipe: w, role: acls.RoleAdopt, commands: [][]string{{"consumer", "topics", "adopt"}, {"consumer", "topics", "adopt", "--execute"}}}
	d.test()
	w.asAdmin(func() {
		w.send(ids("b", 5)...)
		w.drain()
	})
	expect.Equal(t, len(w.read(w.topics.Output)), 10, "outputs")
}

// If the order cannot be written, the command fails and no order takes effect.
func testControlRole(t *testing.T, kafka *aclBroker) {
	w := newConfined(t, kafka)
	d := &roleTest{confinedPipe: w, role: acls.RoleControl, commands: [][]string{{"consumer", "pause", "--reason", "a test"}}}
	w.asAdmin(func() {
		for _, order := range []string{"pause", "resume"} { // the command does not read an empty topic
			w.runConsumer(order, "--reason", "a test")
		}
	})
	orders := len(w.read(w.set.ID + ".control"))
	d.before = func(permission) {
		expect.Equal(t, len(w.read(w.set.ID+".control")), orders, "records in the control topic after a refused order")
	}
	d.test()
	d.commands = [][]string{{"consumer", "resume", "--reason", "a test"}}
	d.wantAllowed()
}

func testStatusRole(t *testing.T, kafka *aclBroker) {
	d := &roleTest{confinedPipe: newConfined(t, kafka), role: acls.RoleStatus, commands: [][]string{{"consumer", "status"}}}
	d.test()
}

// Every topic contains a record, because empty topics are not read.
func testVerifyRole(t *testing.T, kafka *aclBroker) {
	w := newConfined(t, kafka)
	w.asAdmin(func() {
		w.places.Script("a-1", misbehave.Status(503))
		w.places.Script("a-2", misbehave.Status(404))
		w.send(ids("a", 5)...)
		w.drain()
		w.sendRecords(&kgo.Record{Topic: w.topics.Tiers[0], Value: []byte("x")}) // the consumer deletes the records that it has finished
	})
	d := &roleTest{confinedPipe: w, role: acls.RoleVerify, commands: [][]string{{"consumer", "verify", "records"}, {"consumer", "verify", "audit"}}}
	d.test()
}

func testGovernanceRole(t *testing.T, kafka *aclBroker) {
	w := newConfined(t, kafka)
	w.asAdmin(func() {
		w.sendDenied("a")
		w.drain()
	})
	d := &roleTest{confinedPipe: w, role: acls.RoleGovernance, commands: [][]string{{"consumer", "governance", "export"}}}
	d.test()
}

// asAdmin calls work with a pipeline file whose principal has all permissions.
func (w *confinedPipe) asAdmin(work func()) {
	w.t.Helper()
	own, confined := w.file, w.set
	w.set.Brokers, w.set.Kafka = []string{w.kafka.Addr}, ""
	w.write()
	work()
	w.file, w.set = own, confined
}

// verify verifies the pipeline as the administrator, because other roles lack the permissions.
func (w *confinedPipe) verify(seen ...*kgo.Record) (account *conservation.Account) {
	w.t.Helper()
	w.asAdmin(func() { account = w.pipe.verify(seen...) })
	return account
}

// replayerRows are the replayer's commands, and one row for each permission that a running replay can lose.
func replayerRows(t *testing.T, kafka *aclBroker) []row {
	t.Helper()
	rows := []row{{"replayer/read", testReplayerReads}, {"replayer/write", testReplayerWrites}, {"replayer/any DLQ", testAnyDLQ}}
	all, names := permissionsOf(t, kafka, acls.RoleReplayerWrite)
	for i, p := range all {
		if p.op == acls.Write && p.grant.When(p.op) == acls.Always && !strings.HasSuffix(p.grant.Name, ".dlq") { // only edits write to the DLQ
			rows = append(rows, row{"replayer/running, " + names[i], func(t *testing.T, kafka *aclBroker) { testReplayLoses(t, kafka, i) }})
		}
	}
	return rows
}

// testReplayerReads runs every command that changes nothing.
func testReplayerReads(t *testing.T, kafka *aclBroker) {
	w := newConfined(t, kafka)
	w.asAdmin(func() {
		w.makeDead(4)
		w.replay("--execute", "--limit", "1", "--replay-id", "first")
	})
	id := value(w.read(w.topics.DLQ)[3], "switchback-dead-letter-id")
	d := &roleTest{confinedPipe: w, role: acls.RoleReplayerRead}
	d.newCommands = func() [][]string {
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
	wantTotals(t, w.verify(), 4, conservation.Place{DeadLetters: 4, Replays: 1, Unread: 1})
}

// testReplayerWrites runs every command that changes something.
func testReplayerWrites(t *testing.T, kafka *aclBroker) {
	const n = 200
	w := newConfined(t, kafka)
	w.asAdmin(func() {
		w.makeDead(n)
		if err := w.log.Delete(w.ctx, w.set.ID+".control"); err != nil { // the first replay creates a key
			t.Fatal(err)
		}
		w.log = topiclog.Connect(t, w.log.Addrs())
		w.run("consumer", "topics", "ensure", "-c", w.file)
	})
	deadLetters := w.read(w.topics.DLQ)
	d := &roleTest{confinedPipe: w, role: acls.RoleReplayerWrite}
	last := len(deadLetters)
	next := func() string {
		last--
		return value(deadLetters[last], "switchback-dead-letter-id")
	}
	d.newCommands = func() [][]string {
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
	w.asAdmin(func() { w.runConsumer("verify", "audit") })
}

// testReplayLoses revokes a permission while a replay runs. The replay names the permission and ends. After the
// permission is granted again, a second replay reinjects the remaining dead letters, and none twice.
func testReplayLoses(t *testing.T, kafka *aclBroker, i int) {
	const n = 30
	w := newConfined(t, kafka)
	w.asAdmin(func() { w.makeDead(n) })
	all := w.printedPermissions(acls.RoleReplayerWrite)
	w.grant(all...)
	source := w.log.Tail(t, w.topics.Source)
	args := []string{"replay", "-c", w.file, "--all", "--execute", "--reason", "a test"}
	p := proc.Start(t, w.spec("replayer", append(slices.Clone(args), "--rate", "4/s")...))
	source.UntilCount(w.ctx, t, "some replays", n+1)
	w.revoke(all[i])
	r := p.Wait(w.ctx, t)
	wanted := w.denial(all[i])
	expect.That(t, r.Code == exitPartial && wanted.MatchString(r.Stderr), "the replay does not print %q: %s", wanted, r)
	w.grant(all[i])
	if r := w.run("replayer", args...); r.Code != 0 {
		t.Errorf("second replay: %s", r)
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
	wantTotals(t, w.verify(), n, conservation.Place{DeadLetters: n, Replays: n, Output: n})
}
