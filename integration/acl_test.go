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

// atOnce is how many rows of the matrix run side by side: each waits for the broker and for pauses most of its time.
const atOnce = 10

// S4-15: on a broker with ACLs, each command works with exactly what the commands print for it, and each permission that they print is
// needed: the matrix takes it away, at the start and while the command runs, looks at what that does, and gives it back. The rows are
// those of the table in internal/acls.
func TestPermissions_S4_15(t *testing.T) {
	beside(t, testrun.Proof)
	kafka := guardedKafka(t)
	var rows []row
	if testrun.IsNightly(t) {
		rows = append(rows, dutyRows()...)
		rows = append(rows, replayerRows(t, kafka)...)
		rows = append(rows, runRows(t, kafka)...)
	} else {
		rows = []row{{"consumer/topics", testTopicsDuty}, {"run/all are enough", func(t *testing.T, kafka *guarded) { testRun(t, kafka, -1) }}, {"replayer/any DLQ", testAnyDLQ}}
	}
	next := make(chan row)
	go func() {
		defer close(next)
		for _, r := range rows {
			next <- r
		}
	}()
	var wg sync.WaitGroup
	for range atOnce {
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
	test func(*testing.T, *guarded)
}

// tableOf gives the permissions of a role as the table has them. The names of the rows are those of a pipeline "it".
func tableOf(t *testing.T, kafka *guarded, role acls.Role) (all []permission, names []string) {
	t.Helper()
	w := prepareWard(t, kafka).confine()
	all = w.printed(role)
	for _, p := range all {
		name := strings.TrimPrefix(strings.Replace(p.grant.Name, w.set.ID, "ID", 1), "switchback-")
		names = append(names, string(role)+"/"+string(p.op)+" "+string(p.grant.Resource)+" "+name)
	}
	return all, names
}

// denial matches an error that names the principal, the operation and the resource. Where Describe was lost with an operation that
// implies it, the cluster refuses that first.
func (w *ward) denial(p permission) *regexp.Regexp {
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

// wantDenial waits until the consumer has named the permission, in its log or its readiness.
func (d *deprived) wantDenial() {
	d.t.Helper()
	wanted := d.denial(d.perm)
	eventually.Until(d.ctx, d.t, "words that match "+wanted.String(), func() (bool, string) {
		log := d.process.Stderr.String()
		if found := served.FindStringSubmatch(log); found != nil && d.address == "" {
			if err := json.Unmarshal([]byte(found[1]), &d.address); err != nil {
				return false, err.Error()
			}
		}
		log = log[d.said:]
		if d.address != "" {
			_, body := d.get(d.address, "/readyz")
			log += body
		}
		return wanted.MatchString(log), log
	})
}

// testAnyDLQ replays the DLQ of other software with exactly what is printed for it. Each permission is needed: without it a replay is refused
// with its name, and puts nothing back.
func testAnyDLQ(t *testing.T, kafka *guarded) {
	w := prepareWard(t, kafka)
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
	at := w.profile(dlq)
	replayer := func(command string, args ...string) (code int, said string) {
		r := w.run("replayer", append(append([]string{command}, at...), args...)...)
		return r.Code, r.String()
	}
	role := func(role acls.Role) []permission {
		return w.permissions(w.run("replayer", append(append([]string{"acls"}, at...), "--principal", w.principal(), "--target", target, "--for", string(role), "-o", "json")...))
	}
	all := role(acls.RoleReplayerWrite)
	slices.SortStableFunc(all, func(a, b permission) int { // what makes topics first: deleted topics have no states yet
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
		w.take(p)
		if p.op == acls.Create {
			w.asAdmin(func() { _ = w.log.Delete(w.ctx, p.grant.Name) }) // the command makes it again, where it may
		}
		command, args := "replay", replay
		if p.grant.Resource == acls.TransactionalID && strings.HasSuffix(p.grant.Name, "-control") {
			command, args = "note", []string{group[1], "somebody looks at it"}
		}
		code, text := replayer(command, args...)
		if refused := code != 0; refused != (p.grant.When(p.op) != acls.Seen) {
			t.Errorf("without %v: %d %s", p, code, text)
		} else if refused && !w.denial(p).MatchString(text) {
			t.Errorf("without %v it does not say %q: %s", p, w.denial(p), text)
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
			expect.Equal(t, times[fmt.Sprintf("k%d", i)], 1, "k", i, "is back")
		}
	})
}

// profile lets commands come as the principal to a DLQ without a pipeline, and returns the flags that name it.
func (w *ward) profile(dlq string) []string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "profiles.yaml")
	text := fmt.Sprintf("profiles:\n  ward:\n    brokers: [%q]\n    %s\n", w.kafka.Behind, w.sasl())
	must.Do(w.t, os.WriteFile(file, []byte(text), 0o600))
	return []string{"--profiles", file, "--profile", "ward", "--topic", dlq}
}

// runRows are the permissions of consumer run, and one row that takes none.
func runRows(t *testing.T, kafka *guarded) []row {
	t.Helper()
	all, names := tableOf(t, kafka, acls.RoleRun)
	rows := []row{
		{"run/all are enough", func(t *testing.T, kafka *guarded) { testRun(t, kafka, -1) }},
		{"run/all are enough at least once", testRunAtLeastOnce},
	}
	for i := range all {
		rows = append(rows, row{names[i], func(t *testing.T, kafka *guarded) { testRun(t, kafka, i) }})
	}
	return rows
}

// testRunAtLeastOnce takes no permission. This delivery needs no transactional id, and refuses governance, so its rounds are smaller.
func testRunAtLeastOnce(t *testing.T, kafka *guarded) {
	w := newWard(t, kafka, func(s *settings) { s.More = "delivery: at_least_once\n" })
	all := w.printed(acls.RoleRun)
	w.grant(all...)
	for _, p := range all {
		expect.That(t, p.grant.Resource != acls.TransactionalID, "%s on a transactional id is printed", p.op)
	}
	d := &deprived{ward: w, outputs: w.log.Tail(t, w.topics.Output), letters: w.log.Tail(t, w.topics.DLQ)}
	d.begin()
	d.places.Script("once", misbehave.Status(503))
	d.places.Script("gone", misbehave.Times(10, misbehave.Status(404))...)
	d.send("a", "b", "once", "gone")
	ended := d.until(func() (bool, string) {
		outputs, letters := len(d.outputs.Seen()), len(d.letters.Seen())
		return outputs == 3 && letters == 1, fmt.Sprint(outputs, " outputs, ", letters, " dead letters")
	})
	must.That(t, !ended, "the consumer has ended: %s", d.process.Stderr)
	d.stop(d.process)
	w.asAdmin(func() { wantTotals(t, w.verify(), 4, conservation.Place{Output: 3, Letters: 1}) })
}

// deprived is a consumer one of whose permissions is taken away.
type deprived struct {
	*ward
	perm    permission
	process *proc.Process
	outputs *topiclog.Tail
	letters *topiclog.Tail
	address string // of its health
	rounds  []string
	beyond  int // records beside the rounds, all of which die
	said    int // how much of the log was there when the permission was taken away
}

// testRun takes the nth printed permission away from a consumer that runs, and then from one that starts: where the memory is empty,
// nothing reads it. A negative n takes none.
func testRun(t *testing.T, kafka *guarded, n int) {
	t.Helper()
	w := newWard(t, kafka, func(s *settings) {
		s.Tolerance = "max_null_rate: 1, halt_on_geometry_invalid: false, max_transient_rate: 1, max_dead_letter_rate: 0.5, min_records: 10"
	})
	all := w.printed(acls.RoleRun)
	w.grant(all...)
	d := &deprived{ward: w, outputs: w.log.Tail(t, w.topics.Output), letters: w.log.Tail(t, w.topics.DLQ)}
	if n < 0 {
		d.begin()
		d.round()
		d.delivered()
		d.end()
		return
	}
	d.perm = all[n]
	when := d.perm.grant.When(d.perm.op)
	if when == acls.Ordered {
		d.atStart()
	} else {
		d.begin()
		d.round()
		d.delivered()
	}
	d.whileRunning(when)
	d.stop(d.process)
	if when != acls.Ordered && when != acls.Tidied && when != acls.Seen {
		d.atStart()
		d.stop(d.process)
	}
	d.end()
}

// begin starts the consumer and waits until it is ready.
func (d *deprived) begin() {
	d.t.Helper()
	d.process = d.start("it")
	d.address = d.pipe.address(d.process)
	d.untilReady(d.address, http.StatusOK)
}

// Each round sends so many records: all but the last two are delivered, one of them after a retry.
const (
	roundRecords = 13
	roundDead    = 2
)

// round sends records that make every kind of decision.
func (d *deprived) round() {
	d.t.Helper()
	prefix := string(rune('a' + len(d.rounds)))
	d.rounds = append(d.rounds, prefix)
	d.places.Script(prefix+"-once", misbehave.Status(503))
	d.places.Script(prefix+"-gone", misbehave.Times(10, misbehave.Status(404))...)
	d.send(append(ids(prefix, roundRecords-3), prefix+"-once", prefix+"-gone")...)
	d.sendSacred(prefix)
}

// delivered waits until all rounds have come to their end.
func (d *deprived) delivered() {
	d.t.Helper()
	must.That(d.t, !d.until(d.everything), "the consumer has ended: %s", d.process.Stderr)
	d.address = d.pipe.address(d.process)
	d.untilReady(d.address, http.StatusOK)
}

// everything says whether all rounds have come to their end.
func (d *deprived) everything() (bool, string) {
	outputs, letters := len(d.outputs.Seen()), len(d.letters.Seen())
	return outputs >= len(d.rounds)*(roundRecords-roundDead) && letters >= len(d.rounds)*roundDead+d.beyond, fmt.Sprint(outputs, " outputs, ", letters, " dead letters")
}

// until waits for something, or for the end of the process.
func (d *deprived) until(done func() (bool, string)) (ended bool) {
	d.t.Helper()
	eventually.Until(d.ctx, d.t, "every record delivered or dead, or the end of the process", func() (bool, string) {
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

// end holds the rounds to their account: nothing is lost or doubled.
func (d *deprived) end() {
	d.t.Helper()
	select {
	case <-d.process.Done():
	default:
		d.stop(d.process)
	}
	n := len(d.rounds)
	wantTotals(d.t, d.verify(), n*roundRecords+d.beyond, conservation.Place{Output: n * (roundRecords - roundDead), Letters: n*roundDead + d.beyond})
}

// whileRunning takes the permission from a consumer that works.
func (d *deprived) whileRunning(when acls.When) {
	d.t.Helper()
	d.deprive()
	if when == acls.Ordered {
		d.holdsItself()
		return
	}
	d.round()
	switch when {
	case acls.Always:
		d.wantBlocked()
	case acls.Followed, acls.Tidied:
		d.wantDenial()
		fallthrough
	default: // it goes on
		d.delivered()
	}
	d.ward.grant(d.perm)
	d.delivered()
	if when == acls.Always && d.perm.op == acls.Read {
		d.quietly()
	}
}

// holdsItself breaks a tolerance. The instance holds at once, and the pipeline once the order can be written.
func (d *deprived) holdsItself() {
	d.t.Helper()
	d.beyond = 22 // of which those that are left when it is held are too few to hold it again
	for _, id := range ids("gone", d.beyond) {
		d.places.Script(id, misbehave.Times(10, misbehave.Status(404))...)
	}
	d.send(ids("gone", d.beyond)...)
	d.wantDenial()
	d.ward.grant(d.perm)
	d.asAdmin(func() {
		eventually.Until(d.ctx, d.t, "the order in the control topic", func() (bool, string) {
			s := d.state()
			return s.State.State == "paused", fmt.Sprintf("%+v", s)
		})
		d.does("resume", "--reason", "a test")
	})
	d.delivered()
}

// quietly takes the permission where nothing comes that could be committed.
func (d *deprived) quietly() {
	d.t.Helper()
	d.deprive()
	d.untilReady(d.address, http.StatusServiceUnavailable)
	d.ward.grant(d.perm)
	d.untilReady(d.address, http.StatusOK)
}

// atStart starts the consumer without the permission, and lets it work once it has it. One that has committed something before it was
// refused waits; any other one has ended, or is about to end.
func (d *deprived) atStart() {
	d.t.Helper()
	d.take(d.perm)
	d.round()
	d.process, d.said, d.address = d.start("it"), 0, ""
	d.wantDenial()
	d.ward.grant(d.perm)
	if ended := d.until(d.everything); ended {
		expect.Equal(d.t, d.process.Wait(d.ctx, d.t).Code, 1, "exit code")
		d.begin()
	}
	d.delivered()
}

// deprive takes the permission away, and notes what was said before.
func (d *deprived) deprive() {
	d.t.Helper()
	d.said = len(d.process.Stderr.String())
	d.take(d.perm)
}

// wantBlocked wants that the consumer says what is missing and is not ready.
func (d *deprived) wantBlocked() {
	d.t.Helper()
	d.wantDenial()
	d.untilReady(d.address, http.StatusServiceUnavailable)
}
