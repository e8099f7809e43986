package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// isBobs is the lease of a replayer that took over.
var isBobs = control.Lease{Token: "b", Owner: "bob on vm", Operation: "op-b", Generation: 1}

// A replayer slept, and another one took over meanwhile. The first ends once it wakes up, also where it sends nothing but waits. One that
// has reached all dead letters goes on waiting for the consumer: it writes nothing any more.
func TestLease_C4_whoWasTakenOverEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		letters       int
		paused, ended bool
	}{
		"waits for its canary":  {letters: 3},
		"is paused":             {letters: 3, paused: true},
		"the other one ended":   {letters: 3, paused: true, ended: true},
		"has reached the last":  {letters: 1},
		"has, and is taken for": {letters: 1, ended: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := parallel(t)
			p, ended, release := w.slowly(c.letters)
			if c.paused {
				w.order(control.PauseJob, p.ID)
				w.jobIs(p.ID, control.JobPaused)
			}
			bobs := isBobs
			bobs.Released = c.ended
			w.put(w.service(), bobs)
			if c.letters == 1 {
				w.jobIs(p.ID, control.JobDone) // as everybody sees it: nothing is left to send
				release <- struct{}{}
				must.Do(t, <-ended)
				return
			}
			err := <-ended
			expect.That(t, errors.Is(err, ErrFenced) && strings.HasPrefix(err.Error(), "bob on vm") && len(w.sent()) == 1, "%v", err)
		})
	}
}

// A replayer that lost the broker, and is taken over while it waits for it, says by whom.
func TestPersist_C4_namesWhoTookOver(t *testing.T) {
	w := parallel(t)
	s := w.service()
	l := s.newLease(operation{})
	err := s.persist(w.ctx(), l, func(context.Context) error { return errLost }, func(error) { l.end(&takenOverError{isBobs, ErrFenced}) })
	expect.That(t, errors.Is(err, ErrFenced) && strings.HasPrefix(err.Error(), "bob on vm"), "%v", err)
}

// said is a log that tells of each line.
type said chan string

func (s said) Write(line []byte) (int, error) {
	s <- string(line)
	return len(line), nil
}

// A replayer that slept for longer than a lease lives, while it gave a sign of life, gives another one when it wakes up.
func TestLease_C4_triesOnceMoreAfterALongSleep(t *testing.T) {
	w := parallel(t)
	s := w.service()
	lines := make(said, 100)
	s.log, s.leaseLife, s.leaseRenewal = slog.New(slog.NewTextHandler(lines, nil)), 1200*time.Millisecond, time.Second
	l := s.newLease(operation{id: "op-a", by: "ana", word: "replay", reason: "x"})
	l.end = func(err error) { t.Error(err) }
	defer l.release(w.ctx())
	must.Do(t, l.take(w.ctx()))
	var signs atomic.Int32
	w.broker.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		if signs.Add(1) == 1 {
			w.broker.SleepControl(func() {
				for !strings.Contains(<-lines, "it is tried again") {
				}
			})
		}
		return nil, nil, false
	})
	w.renewed(l)
}

// Of those that wait for one replayer, one is faster. The others go on waiting.
func TestLease_C4_whoWaitsGoesOnWaiting(t *testing.T) {
	w := parallel(t)
	w.dieMany(3)
	s := w.service()
	s.leaseLife = 200 * time.Millisecond // after which the other one's is nobody's
	var starts atomic.Int32
	w.broker.ControlKey(int16(kmsg.InitProducerID), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		if r.(*kmsg.InitProducerIDRequest).TransactionalID != nil && starts.Add(1) == 1 {
			w.broker.SleepControl(func() { w.put(w.service(), isBobs) })
		}
		return nil, nil, false
	})
	c := ana("x")
	c.Lease = LeaseOptions{Wait: time.Hour}
	r, err := s.Change(w.ctx(), deadletters.Filter{}, Discard, c, nil)
	expect.That(t, err == nil && r.Changed == 3, "%+v, %v", r, err)
}

// A replayer that holds the state directory while it sleeps learns who took over, although that one waits for the directory.
func TestStateDir_C4_namesWhoTookOver(t *testing.T) {
	t.Parallel()
	w := noTopics(t)
	w.dieOfSpring(5)
	dir := t.TempDir()
	a, b := w.inDirectory(dir), w.inDirectory(dir)
	wake, first := w.dying(a, w.plan(a, deadletters.Filter{}), 0)
	second := make(chan error, 1)
	plan := w.plan(b, deadletters.Filter{})
	go func() {
		_, err := b.Execute(w.ctx(), plan, ExecuteOptions{Call: takingOver("bob", "y")})
		second <- err
	}()
	eventually.Until(w.ctx(), t, "bob takes over", func() (bool, string) {
		view := must.Get(b.control(w.ctx()))(t)
		return strings.HasPrefix(view.Lease.Owner, "bob"), view.Lease.String()
	})
	wake()
	err := (<-first).err
	expect.That(t, errors.Is(err, ErrFenced) && strings.HasPrefix(err.Error(), "bob on"), "%v", err)
	must.Do(t, <-second)
	w.eachOnce(b, 5)
}

// While a pruning looked for what to delete, another replayer took over and made a dead letter pending again. Its record stays.
func TestPrune_C4_deletesNothingOnceAnotherTookOver(t *testing.T) {
	w := parallel(t)
	w.die(letter(0, "a", fmt.Sprintf(square, "a")))
	w.resolve(start.AddDate(0, 0, -31), deadletters.Discarded, 0, "a")
	s, other := w.service(), w.service()
	var looks atomic.Int32
	w.broker.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		if r.(*kmsg.ListOffsetsRequest).Topics[0].Topic == "features.dlq" && looks.Add(1) == 1 {
			w.broker.SleepControl(func() {
				must.Get(other.Change(w.ctx(), deadletters.Filter{IDs: []string{"a"}, Statuses: []deadletters.Status{deadletters.Discarded}}, Reopen, takingOver("bob", "not yet"), nil))(t)
			})
		}
		return nil, nil, false
	})
	_, err := s.Prune(w.ctx(), start.AddDate(0, 0, -30), ana("monthly"))
	expect.That(t, errors.Is(err, ErrFenced) && strings.HasPrefix(err.Error(), "bob on"), "%v", err)
	expect.Equal(t, len(w.read("features.dlq")), 1, "records of the DLQ")
}
