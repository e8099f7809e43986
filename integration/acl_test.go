package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// parallelRows is how many rows of the matrix run in parallel. Rows spend most of their time waiting.
const parallelRows = 10

// S4-15: on a broker with ACLs, each command works with exactly the permissions that the commands print for it, and each
// printed permission is needed. The matrix revokes each permission, at the start and while the command runs, checks the
// effect, and grants it again. Its rows are the table of internal/acls.
func TestPermissions_S4_15(t *testing.T) {
	parallel(t, testrun.Proof)
	kafka := startACLBroker(t)
	var rows []row
	if testrun.IsNightly(t) {
		rows = append(rows, roleRows()...)
		rows = append(rows, replayerRows(t, kafka)...)
		rows = append(rows, runRows(t, kafka)...)
	} else {
		rows = []row{{"consumer/topics", testTopicsRole}, {"run/all are enough", func(t *testing.T, kafka *aclBroker) { testRun(t, kafka, -1) }}, {"replayer/any DLQ", testAnyDLQ}}
	}
	next := make(chan row)
	go func() {
		defer close(next)
		for _, r := range rows {
			next <- r
		}
	}()
	var wg sync.WaitGroup
	for range parallelRows {
		wg.Go(func() {
			for r := range next {
				t.Run(r.name, func(t *testing.T) { r.test(t, kafka) })
			}
		})
	}
	wg.Wait()
}

// row is one test of the matrix.
type row struct {
	name string
	test func(*testing.T, *aclBroker)
}

// permissionsOf returns the permissions of a role and names for their rows, in which the pipeline's ID is replaced by
// "ID".
func permissionsOf(t *testing.T, kafka *aclBroker, role acls.Role) (all []permission, names []string) {
	t.Helper()
	w := prepareConfined(t, kafka).confine()
	all = w.printedPermissions(role)
	for _, p := range all {
		name := strings.TrimPrefix(strings.Replace(p.grant.Name, w.set.ID, "ID", 1), "switchback-")
		names = append(names, string(role)+"/"+string(p.op)+" "+string(p.grant.Resource)+" "+name)
	}
	return all, names
}

// denial matches an error that names the principal, the operation and the resource. If the missing operation implied
// Describe, the broker may refuse Describe first.
func (w *confinedPipe) denial(p permission) *regexp.Regexp {
	name := regexp.QuoteMeta(p.grant.Name)
	if p.grant.Pattern == acls.Prefixed {
		name += `[^ :]*`
	}
	resource := map[acls.Resource]string{acls.Topic: "topic", acls.Group: "group", acls.TransactionalID: "transactional id"}[p.grant.Resource]
	operation := string(p.op)
	if p.op != acls.DescribeConfigs && p.op != acls.Create {
		operation = "(" + operation + "|Describe)"
	}
	return regexp.MustCompile(regexp.QuoteMeta(w.principal()) + " may not " + operation + " " + resource + " " + name + ":")
}

// wantDenial waits until the consumer names the permission in its log or in /readyz.
func (d *revocation) wantDenial() {
	d.t.Helper()
	wanted := d.denial(d.perm)
	eventually.Until(d.ctx, d.t, "an error that matches "+wanted.String(), func() (bool, string) {
		log := d.process.Stderr.String()
		if found := metricsServed.FindStringSubmatch(log); found != nil && d.address == "" {
			if err := json.Unmarshal([]byte(found[1]), &d.address); err != nil {
				return false, err.Error()
			}
		}
		log = log[d.logStart:]
		if d.address != "" {
			_, body := d.get(d.address, "/readyz")
			log += body
		}
		return wanted.MatchString(log), log
	})
}

// testAnyDLQ replays the DLQ of other software with exactly the permissions that are printed for it. Without any one of
// them, the replay fails, names the permission and reinjects nothing.
func testAnyDLQ(t *testing.T, kafka *aclBroker) {
	w := prepareConfined(t, kafka)
	target := w.set.ID + ".payments"
	dlq := target + ".DLT"
	for topic, cleanup := range map[string]string{target: "compact", dlq: "delete"} {
		must.Do(t, w.log.Create(w.ctx, topic, 1, map[string]string{"cleanup.policy": cleanup}))
	}
	const n = 40
	for i := range n {
		w.sendRecords(&kgo.Record{Topic: dlq, Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, `{"n":%d}`, i), Headers: []kgo.RecordHeader{
			{Key: "kafka_dlt-original-topic", Value: []byte(target)}, {Key: "kafka_dlt-exception-fqcn", Value: []byte("java.lang.IllegalStateException")},
		}})
	}
	flags := w.profile(dlq)
	replayer := func(command string, args ...string) (code int, output string) {
		r := w.run("replayer", append(append([]string{command}, flags...), args...)...)
		return r.Code, r.String()
	}
	role := func(role acls.Role) []permission {
		return w.parsePermissions(w.run("replayer", append(append([]string{"acls"}, flags...), "--principal", w.principal(), "--target", target, "--for", string(role), "-o", "json")...))
	}
	all := role(acls.RoleReplayerWrite)
	slices.SortStableFunc(all, func(a, b permission) int { // Create comes first: after topics were deleted, there are no states yet
		switch {
		case a.op == acls.Create && b.op != acls.Create:
			return -1
		case a.op != acls.Create && b.op == acls.Create:
			return 1
		}
		return 0
	})
	w.grant(all...)
	_, listed := replayer("groups", "-o", "json")
	group := regexp.MustCompile(`"id": ?"([0-9a-f]{12})"`).FindStringSubmatch(listed)
	must.That(t, group != nil, "no group: %s", listed)
	replay := []string{"--limit", "1", "--execute", "--create-topics", "--origin", target, "--reason", "a test"}
	for _, p := range all {
		w.revoke(p)
		if p.op == acls.Create {
			w.asAdmin(func() { _ = w.log.Delete(w.ctx, p.grant.Name) }) // the command re-creates the topic if it may
		}
		command, args := "replay", replay
		if p.grant.Resource == acls.TransactionalID && strings.HasSuffix(p.grant.Name, "-control") {
			command, args = "note", []string{group[1], "an operator looks at it"}
		}
		code, text := replayer(command, args...)
		if refused := code != 0; refused != (p.grant.When(p.op) != acls.Seen) {
			t.Errorf("without %v: %d %s", p, code, text)
		} else if refused && !w.denial(p).MatchString(text) {
			t.Errorf("without %v, the error does not match %q: %s", p, w.denial(p), text)
		}
		w.grant(p)
	}
	w.grant(slices.DeleteFunc(role(acls.RoleReplayerRead), func(p permission) bool { return p.op != acls.Read || !strings.HasSuffix(p.grant.Name, "-audit") })...)
	for _, args := range [][]string{
		{"replay", "--all", "--execute", "--create-topics", "--origin", target, "--reason", "a test"}, {"replays"}, {"audit"}, {"groups"}, {"list"}, {"stats"},
	} {
		code, text := replayer(args[0], args[1:]...)
		expect.That(t, code == 0, "%v: %s", args, text)
	}
	w.asAdmin(func() {
		times := map[string]int{}
		for _, r := range w.read(target) {
			times[string(r.Key)]++
		}
		for i := range n {
			expect.Equal(t, times[fmt.Sprintf("k%d", i)], 1, "reinjected records of k", i)
		}
	})
}

// profile writes a connection profile of the principal for a DLQ without a pipeline, and returns the flags that select
// it.
func (w *confinedPipe) profile(dlq string) []string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "profiles.yaml")
	text := fmt.Sprintf("profiles:\n  ward:\n    brokers: [%q]\n    %s\n", w.kafka.Behind, w.sasl())
	must.Do(w.t, os.WriteFile(file, []byte(text), 0o600))
	return []string{"--profiles", file, "--profile", "ward", "--topic", dlq}
}

// runRows returns one row for each permission of `consumer run`, and rows in which no permission is revoked.
func runRows(t *testing.T, kafka *aclBroker) []row {
	t.Helper()
	all, names := permissionsOf(t, kafka, acls.RoleRun)
	rows := []row{
		{"run/all are enough", func(t *testing.T, kafka *aclBroker) { testRun(t, kafka, -1) }},
		{"run/all are enough at least once", testRunAtLeastOnce},
	}
	for i := range all {
		rows = append(rows, row{names[i], func(t *testing.T, kafka *aclBroker) { testRun(t, kafka, i) }})
	}
	return rows
}

// testRunAtLeastOnce revokes no permission. At-least-once delivery needs no transactional ID and does not support
// governance, so this test sends its own records.
func testRunAtLeastOnce(t *testing.T, kafka *aclBroker) {
	w := newConfined(t, kafka, func(s *settings) { s.More = "delivery: at_least_once\n" })
	all := w.printedPermissions(acls.RoleRun)
	w.grant(all...)
	for _, p := range all {
		expect.That(t, p.grant.Resource != acls.TransactionalID, "%s on a transactional ID is printed", p.op)
	}
	d := &revocation{confinedPipe: w, outputs: w.log.Tail(t, w.topics.Output), deadLetters: w.log.Tail(t, w.topics.DLQ)}
	d.startReady()
	d.places.Script("once", misbehave.Status(503))
	d.places.Script("gone", misbehave.Times(10, misbehave.Status(404))...)
	d.send("a", "b", "once", "gone")
	ended := d.untilOrExit(func() (bool, string) {
		outputs, deadLetters := len(d.outputs.Seen()), len(d.deadLetters.Seen())
		return outputs == 3 && deadLetters == 1, fmt.Sprint(outputs, " outputs, ", deadLetters, " dead letters")
	})
	must.That(t, !ended, "the consumer has exited: %s", d.process.Stderr)
	d.stop(d.process)
	w.asAdmin(func() { wantTotals(t, w.verify(), 4, conservation.Place{Output: 3, DeadLetters: 1}) })
}

// revocation tests a consumer while one of its permissions is revoked.
type revocation struct {
	*confinedPipe
	perm        permission
	process     *proc.Process
	outputs     *topiclog.Tail
	deadLetters *topiclog.Tail
	address     string // of the HTTP server
	rounds      []string
	extraDead   int // additional records that all become dead letters
	logStart    int // length of the log when the permission was revoked
}

// testRun revokes the nth printed permission of a running consumer, and then of a starting one. The second try needs
// records, because an empty memory topic is not read. A negative n revokes none.
func testRun(t *testing.T, kafka *aclBroker, n int) {
	t.Helper()
	w := newConfined(t, kafka, func(s *settings) {
		s.Tolerance = "max_null_rate: 1, halt_on_geometry_invalid: false, max_transient_rate: 1, max_dead_letter_rate: 0.5, min_records: 10"
	})
	all := w.printedPermissions(acls.RoleRun)
	w.grant(all...)
	d := &revocation{confinedPipe: w, outputs: w.log.Tail(t, w.topics.Output), deadLetters: w.log.Tail(t, w.topics.DLQ)}
	if n < 0 {
		d.startReady()
		d.sendRound()
		d.waitForRounds()
		d.wantConserved()
		return
	}
	d.perm = all[n]
	when := d.perm.grant.When(d.perm.op)
	if when == acls.Ordered {
		d.atStart()
	} else {
		d.startReady()
		d.sendRound()
		d.waitForRounds()
	}
	d.whileRunning(when)
	d.stop(d.process)
	if when != acls.Ordered && when != acls.Tidied && when != acls.Seen {
		d.atStart()
		d.stop(d.process)
	}
	d.wantConserved()
}

// startReady starts the consumer and waits until it is ready.
func (d *revocation) startReady() {
	d.t.Helper()
	d.process = d.start("it")
	d.address = d.pipe.metricsAddress(d.process)
	d.untilReadyz(d.address, http.StatusOK)
}

// Each round sends this many records. All but the last two are delivered, one of them after a retry.
const (
	roundRecords = 13
	roundDead    = 2
)

// sendRound sends records that lead to every kind of decision.
func (d *revocation) sendRound() {
	d.t.Helper()
	prefix := string(rune('a' + len(d.rounds)))
	d.rounds = append(d.rounds, prefix)
	d.places.Script(prefix+"-once", misbehave.Status(503))
	d.places.Script(prefix+"-gone", misbehave.Times(10, misbehave.Status(404))...)
	d.send(append(ids(prefix, roundRecords-3), prefix+"-once", prefix+"-gone")...)
	d.sendDenied(prefix)
}

// waitForRounds waits until all records of all rounds are delivered or dead letters.
func (d *revocation) waitForRounds() {
	d.t.Helper()
	must.That(d.t, !d.untilOrExit(d.roundsDone), "the consumer has exited: %s", d.process.Stderr)
	d.address = d.pipe.metricsAddress(d.process)
	d.untilReadyz(d.address, http.StatusOK)
}

// roundsDone reports whether all records of all rounds are delivered or dead letters.
func (d *revocation) roundsDone() (bool, string) {
	outputs, deadLetters := len(d.outputs.Seen()), len(d.deadLetters.Seen())
	return outputs >= len(d.rounds)*(roundRecords-roundDead) && deadLetters >= len(d.rounds)*roundDead+d.extraDead, fmt.Sprint(outputs, " outputs, ", deadLetters, " dead letters")
}

// untilOrExit waits until done is true or the process has exited.
func (d *revocation) untilOrExit(done func() (bool, string)) (ended bool) {
	d.t.Helper()
	eventually.Until(d.ctx, d.t, "every record delivered or dead-lettered, or the exit of the process", func() (bool, string) {
		select {
		case <-d.process.Done():
			ended = true
			return true, ""
		default:
			return done()
		}
	})
	return ended
}

// wantConserved stops the consumer and checks that no record was lost or delivered twice.
func (d *revocation) wantConserved() {
	d.t.Helper()
	select {
	case <-d.process.Done():
	default:
		d.stop(d.process)
	}
	n := len(d.rounds)
	wantTotals(d.t, d.verify(), n*roundRecords+d.extraDead, conservation.Place{Output: n * (roundRecords - roundDead), DeadLetters: n*roundDead + d.extraDead})
}

// whileRunning revokes the permission of a running consumer.
func (d *revocation) whileRunning(when acls.When) {
	d.t.Helper()
	d.revokePermission()
	if when == acls.Ordered {
		d.exceedTolerance()
		return
	}
	d.sendRound()
	switch when {
	case acls.Always:
		d.wantBlocked()
	case acls.Followed, acls.Tidied:
		d.wantDenial()
		fallthrough
	default: // the consumer keeps running
		d.waitForRounds()
	}
	d.confinedPipe.grant(d.perm)
	d.waitForRounds()
	if when == acls.Always && d.perm.op == acls.Read {
		d.whileIdle()
	}
}

// exceedTolerance exceeds an error threshold. The instance pauses at once, and the pipeline as soon as the order can be
// written.
func (d *revocation) exceedTolerance() {
	d.t.Helper()
	d.extraDead = 22 // those left after the pause are too few to exceed the threshold again
	for _, id := range ids("gone", d.extraDead) {
		d.places.Script(id, misbehave.Times(10, misbehave.Status(404))...)
	}
	d.send(ids("gone", d.extraDead)...)
	d.wantDenial()
	d.confinedPipe.grant(d.perm)
	d.asAdmin(func() {
		eventually.Until(d.ctx, d.t, "the order in the control topic", func() (bool, string) {
			s := d.state()
			return s.State.State == "paused", fmt.Sprintf("%+v", s)
		})
		d.runConsumer("resume", "--reason", "a test")
	})
	d.waitForRounds()
}

// whileIdle revokes the permission while there is nothing to commit.
func (d *revocation) whileIdle() {
	d.t.Helper()
	d.revokePermission()
	d.untilReadyz(d.address, http.StatusServiceUnavailable)
	d.confinedPipe.grant(d.perm)
	d.untilReadyz(d.address, http.StatusOK)
}

// atStart starts the consumer without the permission and grants the permission later. A consumer that committed a
// transaction before it was refused keeps waiting. Any other consumer has exited or is about to.
func (d *revocation) atStart() {
	d.t.Helper()
	d.revoke(d.perm)
	d.sendRound()
	d.process, d.logStart, d.address = d.start("it"), 0, ""
	d.wantDenial()
	d.confinedPipe.grant(d.perm)
	if ended := d.untilOrExit(d.roundsDone); ended {
		expect.Equal(d.t, d.process.Wait(d.ctx, d.t).Code, 1, "exit code")
		d.startReady()
	}
	d.waitForRounds()
}

// revokePermission revokes the permission and remembers the length of the log.
func (d *revocation) revokePermission() {
	d.t.Helper()
	d.logStart = len(d.process.Stderr.String())
	d.revoke(d.perm)
}

// wantBlocked checks that the consumer names the permission and is not ready.
func (d *revocation) wantBlocked() {
	d.t.Helper()
	d.wantDenial()
	d.untilReadyz(d.address, http.StatusServiceUnavailable)
}
