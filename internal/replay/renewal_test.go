package replay

import (
	"errors"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
)

// put writes another replayer's lease.
func (w *world) put(s *Service, l control.Lease) {
	w.t.Helper()
	leases, err := control.OpenLeases(s.opts, "features.control")
	if err != nil {
		w.t.Fatal(err)
	}
	defer leases.Close()
	if err := leases.Put(w.ctx(), l); err != nil {
		w.t.Fatal(err)
	}
}

// A session that starts again after another replayer took the lease and released it renews its own lease for as long as it works.
func TestLease_C4_isRenewedAfterAnotherReplayerHeldIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.service()
	c := s.claim(operation{id: "op-a", by: "ana", word: "replay", reason: "x"})
	defer c.release(w.ctx())
	if err := c.hold(w.ctx(), nil); err != nil {
		t.Fatal(err)
	}
	w.put(s, control.Lease{Token: "b", Owner: "bob", Since: start, Renewed: time.Now(), Generation: 1, Released: true})
	c.done.Wait() // the goroutine that renews ends by itself
	if over, err := c.await(w.ctx()); err != nil || over != nil {
		t.Fatal(over, err)
	}
	if err := c.hold(w.ctx(), nil); err != nil { // the next session
		t.Fatal(err)
	}
	first := w.lease()
	eventually.Until(w.ctx(), t, "a renewal", func() (bool, string) {
		now := w.lease()
		return now.Token == c.mine.Token && now.Renewed.After(first.Renewed), now.String()
	})
	if _, err := w.service().claim(operation{id: "op-c", by: "cy", word: "discard", reason: "y"}).await(w.ctx()); !errors.Is(err, ErrLeased) {
		t.Errorf("a third replayer, without --take-over: %v", err)
	}
}

// A command that lost the broker does not go on when another replayer took over meanwhile, whether that one still works or has ended.
func TestLease_C4_aLostSessionEndsBehindAnotherReplayer(t *testing.T) {
	t.Parallel()
	for name, released := range map[string]bool{"which has ended": true, "which works": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.service()
			c := s.claim(operation{id: "op-a", by: "ana", word: "replay", reason: "x"})
			if err := c.takenOver(w.ctx()); err != nil { // before the first session nobody can have taken it from this one
				t.Fatal(err)
			}
			if err := c.hold(w.ctx(), nil); err != nil {
				t.Fatal(err)
			}
			defer c.release(w.ctx())
			if err := c.takenOver(w.ctx()); err != nil {
				t.Errorf("its own lease: %v", err)
			}
			w.put(s, control.Lease{Token: "b", Owner: "bob", Since: start, Renewed: time.Now(), Generation: 1, Released: released})
			if err := c.takenOver(w.ctx()); !errors.Is(err, ErrFenced) || lost(err) {
				t.Errorf("%v", err)
			}
		})
	}
}

// The first signature of a session may fail: the next session signs and renews.
func TestLease_C4_isRenewedAfterASignatureThatFailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.service()
	c := s.claim(operation{id: "op-a", by: "ana", word: "replay", reason: "x"})
	defer c.release(w.ctx())
	leases, err := control.OpenLeases(s.opts, "features.control")
	if err != nil {
		t.Fatal(err)
	}
	c.leases = leases // as a first hold leaves it whose signature failed
	if err := c.hold(w.ctx(), nil); err != nil {
		t.Fatal(err)
	}
	first := w.lease()
	eventually.Until(w.ctx(), t, "a renewal", func() (bool, string) {
		now := w.lease()
		return now.Renewed.After(first.Renewed), now.String()
	})
}

// A replayer that cannot renew its lease ends, also when no broker answers at all.
func TestLease_C4_whoCannotRenewEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.service()
	s.leaseLife = 500 * time.Millisecond
	c := s.claim(operation{id: "op-a", by: "ana", word: "replay", reason: "x"})
	ended := make(chan error, 1)
	c.end = func(err error) { ended <- err }
	if err := c.hold(w.ctx(), nil); err != nil {
		t.Fatal(err)
	}
	w.broker.Close()
	select {
	case err := <-ended:
		if !errors.Is(err, errUnsigned) {
			t.Error(err)
		}
	case <-w.ctx().Done():
		t.Error("it has not ended")
	}
	c.release(w.ctx()) // does not wait for the broker for ever
}

// After a commit whose answer was lost, the next session knows the changes of its own operation.
func TestSweep_C4_knowsItsOwnChanges(t *testing.T) {
	t.Parallel()
	for _, v := range Verbs() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.dieMany(3)
			s := w.service()
			if v == Reopen {
				if _, err := s.Change(w.ctx(), deadletters.Filter{}, Discard, "first", nil); err != nil {
					t.Fatal(err)
				}
			}
			began := len(w.operations())
			selected, err := v.Selection(deadletters.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			chosen, err := s.choose(w.ctx(), selected)
			if err != nil {
				t.Fatal(err)
			}
			op, err := s.operation(string(v), "why", deadletters.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			decide := func(st *standing, l *deadletters.Letter) (*staged, string, error) { return s.changed(op, v, st, l) }
			for range 2 { // the second session knows nothing of the first one's commit
				run := &sweep{service: s, op: op, spots: chosen.spots, decide: decide}
				if err := run.session(w.ctx()); err != nil {
					t.Fatal(err)
				}
				if run.result.Changed != 3 || run.result.Left != 0 {
					t.Errorf("changed %d, left %+v", run.result.Changed, run.result.LeftBy)
				}
			}
			if n := len(w.operations()) - began; n != 1 {
				t.Errorf("the audit trail has %d beginnings of the operation", n)
			}
		})
	}
}
