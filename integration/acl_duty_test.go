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

// duty is what the principal of a role does with commands that end. Each permission is taken away once: one of the commands must say
// what is missing, and change nothing that another one would not bring to its end.
type duty struct {
	*ward
	role acls.Role
	// commands are tried in this order. An earlier one may do its work before a later one is refused.
	commands [][]string
	// further gives the commands of one try, where each must have something new to do; nil gives commands.
	further func() [][]string
	// before prepares a try; nil does nothing.
	before func(permission)
}

// test takes each permission away, and gives it back.
func (d *duty) test() {
	d.t.Helper()
	all := d.printed(d.role)
	d.grant(all...)
	// What is needed only the first time comes first, and what is refused last when nothing is left to do comes last.
	slices.SortStableFunc(all, func(a, b permission) int { return turnOf(a) - turnOf(b) })
	for _, p := range all {
		d.take(p)
		if d.before != nil {
			d.before(p)
		}
		d.wantRefused(p)
		d.grant(p)
	}
	d.works()
}

func (d *duty) tried() [][]string {
	if d.further != nil {
		return d.further()
	}
	return d.commands
}

func turnOf(p permission) int {
	switch {
	case p.grant.When(p.op) == acls.Ordered:
		return 0
	case p.op == acls.Write && strings.HasSuffix(p.grant.Name, ".state"):
		return 2
	}
	return 1
}

// works wants that every command does its work with what is granted.
func (d *duty) works() {
	d.t.Helper()
	for _, args := range d.tried() {
		r := d.do(args)
		expect.That(d.t, worked(r) && (!slices.Contains(args, "--execute") || r.Code == 0), "%s with all that is printed for it: %s", strings.Join(args, " "), r)
	}
}

// wantRefused wants that one of the commands names the permission, and ends with an error. Where a command only shows less without it,
// all of them work.
func (d *duty) wantRefused(p permission) {
	d.t.Helper()
	wanted := d.denial(p)
	var said []string
	for _, args := range d.tried() {
		r := d.do(args)
		if worked(r) {
			continue
		}
		if wanted.MatchString(r.Stderr) {
			return
		}
		said = append(said, fmt.Sprint(strings.Join(args, " "), ": ", r))
	}
	if len(said) == 0 && p.grant.When(p.op) == acls.Seen {
		return
	}
	d.t.Errorf("without %s on %s %s, which is printed for %s, no command says %q: %s", p.op, p.grant.Resource, p.grant.Name, d.role, wanted, strings.Join(said, "\n"))
}

// worked says whether a command did what it could: some have found nothing to do, or wait for --execute.
func worked(r proc.Result) bool { return r.Code == 0 || r.Code == exitNothing || r.Code == exitRefused }

// do runs a command. The replayer's index is a new one: it would know what it has read before.
func (d *duty) do(args []string) proc.Result {
	d.t.Helper()
	spec := d.spec(args[0], append(slices.Clone(args[1:]), "-c", d.file)...)
	spec.Env = []string{"SWITCHBACK_REPLAYER_INDEX_FILE=" + filepath.Join(d.t.TempDir(), "index.sqlite")}
	return proc.Run(d.ctx, d.t, spec)
}

// dutyRows are the commands of the consumer that end.
func dutyRows() []row {
	return []row{
		{"consumer/topics", testTopicsDuty}, {"consumer/adopt", testAdoptDuty}, {"consumer/control", testControlDuty},
		{"consumer/status", testStatusDuty}, {"consumer/verify", testVerifyDuty}, {"consumer/governance", testGovernanceDuty},
	}
}

// What topics ensure needs to create a topic shows where it is missing.
func testTopicsDuty(t *testing.T, kafka *guarded) {
	w := newWard(t, kafka)
	former := w.set.ID + ".retry-7s" // of an earlier configuration, and a record waits in it
	must.Do(t, w.log.Create(w.ctx, former, 1, map[string]string{"retention.ms": "-1"}))
	w.sendRecords(&kgo.Record{Topic: former, Value: []byte(feature("a"))})
	d := &duty{ward: w, role: acls.RoleTopics, commands: [][]string{{"consumer", "topics", "ensure"}}}
	d.before = func(p permission) {
		if p.op != acls.Create {
			return
		}
		must.Do(t, w.log.Delete(w.ctx, p.grant.Name))
	}
	d.test()
	r := d.do([]string{"consumer", "topics", "check"})
	expect.That(t, r.Code == 0 && strings.Contains(r.Stdout+r.Stderr, former), "it does not name the former tier %s: %s", former, r)
}

// An adoption has something to do: source and tier were re-created after work.
func testAdoptDuty(t *testing.T, kafka *guarded) {
	w := newWard(t, kafka)
	w.asAdmin(func() {
		w.places.Script("a-1", misbehave.Status(503))
		w.send(ids("a", 5)...)
		w.drain()
		for _, topic := range []string{w.topics.Source, w.topics.Tiers[0]} {
			must.Do(t, w.log.Delete(w.ctx, topic))
		}
		w.log = topiclog.Connect(t, w.log.Addrs()) // the other client knows the topics that are gone
		w.ensure()
	})
	d := &duty{ward: w, role: acls.RoleAdopt, commands: [][]string{{"consumer", "topics", "adopt"}, {"consumer", "topics", "adopt", "--execute"}}}
	d.test()
	w.asAdmin(func() {
		w.send(ids("b", 5)...)
		w.drain()
	})
	expect.Equal(t, len(w.read(w.topics.Output)), 10, "outputs")
}

// An order that cannot be written is an error, and no order.
func testControlDuty(t *testing.T, kafka *guarded) {
	w := newWard(t, kafka)
	d := &duty{ward: w, role: acls.RoleControl, commands: [][]string{{"consumer", "pause", "--reason", "a test"}}}
	w.asAdmin(func() {
		for _, order := range []string{"pause", "resume"} { // an empty topic is not read
			w.does(order, "--reason", "a test")
		}
	})
	orders := len(w.read(w.set.ID + ".control"))
	d.before = func(permission) {
		expect.Equal(t, len(w.read(w.set.ID+".control")), orders, "records in the control topic after an order that was refused")
	}
	d.test()
	d.commands = [][]string{{"consumer", "resume", "--reason", "a test"}}
	d.works()
}

func testStatusDuty(t *testing.T, kafka *guarded) {
	d := &duty{ward: newWard(t, kafka), role: acls.RoleStatus, commands: [][]string{{"consumer", "status"}}}
	d.test()
}

// Every topic has a record: one that is empty is not read.
func testVerifyDuty(t *testing.T, kafka *guarded) {
	w := newWard(t, kafka)
	w.asAdmin(func() {
		w.places.Script("a-1", misbehave.Status(503))
		w.places.Script("a-2", misbehave.Status(404))
		w.send(ids("a", 5)...)
		w.drain()
		w.sendRecords(&kgo.Record{Topic: w.topics.Tiers[0], Value: []byte("x")}) // what the consumer has finished is deleted
	})
	d := &duty{ward: w, role: acls.RoleVerify, commands: [][]string{{"consumer", "verify", "records"}, {"consumer", "verify", "audit"}}}
	d.test()
}

func testGovernanceDuty(t *testing.T, kafka *guarded) {
	w := newWard(t, kafka)
	w.asAdmin(func() {
		w.sendSacred("a")
		w.drain()
	})
	d := &duty{ward: w, role: acls.RoleGovernance, commands: [][]string{{"consumer", "governance", "export"}}}
	d.test()
}

// asAdmin does something with the file as the test has it, to which everything is allowed.
func (w *ward) asAdmin(work func()) {
	w.t.Helper()
	own, confined := w.file, w.set
	w.set.Brokers, w.set.Kafka = []string{w.kafka.Addr}, ""
	w.write()
	work()
	w.file, w.set = own, confined
}

// verify is that of the pipe, as the test: a principal of another role may not verify.
func (w *ward) verify(seen ...*kgo.Record) (account *conservation.Account) {
	w.t.Helper()
	w.asAdmin(func() { account = w.pipe.verify(seen...) })
	return account
}

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
	w.asAdmin(func() { w.does("verify", "audit") })
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
	wanted := w.denial(all[i])
	expect.That(t, r.Code == exitPartly && wanted.MatchString(r.Stderr), "it does not say %q: %s", wanted, r)
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
