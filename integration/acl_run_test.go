package integration

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

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
