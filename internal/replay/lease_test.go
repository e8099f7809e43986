package replay

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
)

// takingOver is the call of an operator who ends the replayer that is at work.
func takingOver(by, reason string) Call {
	return Call{By: by, Reason: reason, Lease: LeaseOptions{TakeOver: true}}
}

// working starts a replay that waits for the consumer's verdict on its canary, which does not come.
func (w *world) working() <-chan error {
	w.t.Helper()
	return w.canary(w.service(), ana("AREA mapped"), 2)
}

// canary replays everything and waits until the first letters, which are judged before the others go, are sent.
func (w *world) canary(s *Service, c Call, letters int) <-chan error {
	w.t.Helper()
	p := w.plan(s, deadletters.Filter{})
	ended, sent := make(chan error, 1), make(chan struct{}, 1)
	go func() {
		_, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: c, Ramp: ramp.Ramp{Canary: letters}, Progress: func(p Progress) {
			if p.Phase == Gating {
				select {
				case sent <- struct{}{}:
				default:
				}
			}
		}})
		ended <- err
	}()
	<-sent
	return ended
}

func (w *world) lease() *control.Lease {
	w.t.Helper()
	view, err := control.Read(w.ctx(), w.service().opts, "features.control")
	if err != nil {
		w.t.Fatal(err)
	}
	return view.Lease
}

// Trap 6 of issue 18: a second operator fenced the first in the middle of a run. Now the second is told who is at work, and changes
// nothing; the first goes on.
func TestLease_C4_theSecondIsToldWhoIsAtWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(10)
	first := w.working()
	_, err := w.service().Change(w.ctx(), deadletters.Filter{}, Discard, ana("x"), nil)
	if said, ok := errors.AsType[*LeasedError](err); !ok || !errors.Is(err, ErrLeased) || !strings.HasPrefix(said.By.Owner, "ana on ") || said.By.Operation != "r1" || said.By.Purpose != "replay: AREA mapped" {
		t.Fatalf("the second: %v", err)
	}
	if n := w.statuses(); n[deadletters.Discarded] != 0 {
		t.Errorf("the second changed something: %v", n)
	}
	w.consume(well)
	if err := <-first; err != nil {
		t.Errorf("the first: %v", err)
	}
	w.allReprocessed(10)
	if l := w.lease(); l == nil || !l.Released {
		t.Errorf("the lease was not given back: %v", l)
	}
}

func TestLease_C4_theSecondWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(10)
	first := w.working()
	s := w.service()
	waits := make(chan string, 1)
	call := ana("x")
	call.Lease = LeaseOptions{Wait: time.Minute, Waiting: func(holder string) { waits <- holder }}
	end := make(chan error, 1)
	go func() {
		_, err := s.Change(w.ctx(), deadletters.Filter{IDs: []string{"letter-9"}}, Discard, call, nil)
		end <- err
	}()
	if l := <-waits; !strings.Contains(l, "for r1 (replay: AREA mapped)") {
		t.Errorf("it waits for %v", l)
	}
	w.consume(well)
	if err := <-first; err != nil {
		t.Errorf("the first: %v", err)
	}
	if err := <-end; err != nil {
		t.Errorf("the second: %v", err)
	}
}

// On purpose the second ends the first, which is told by whom, also when the second has ended since.
func TestLease_C4_theSecondTakesOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(10)
	first := w.working()
	if r, err := w.service().Change(w.ctx(), deadletters.Filter{IDs: []string{"letter-9"}}, Discard, takingOver("bo", "not wanted"), nil); err != nil || r.Changed != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	w.consume(well) // the canary is well: the first goes on to write, although the second has ended
	if err := <-first; !errors.Is(err, ErrFenced) || !strings.Contains(err.Error(), "bo on ") || !strings.Contains(err.Error(), "discard: not wanted") {
		t.Errorf("the first: %v", err)
	}
	if n := w.statuses(); n[deadletters.Reprocessed] != 2 || n[deadletters.Discarded] != 1 {
		t.Errorf("%v", n)
	}
}

// Who dies leaves a lease behind. Without a sign of life it is nobody's after a while.
func TestLease_C4_ofTheDeadIsNobodys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(3)
	s := w.service()
	s.leaseLife = 500 * time.Millisecond
	leases, err := control.OpenLeases(s.opts, "features.control")
	if err != nil {
		t.Fatal(err)
	}
	defer leases.Close()
	// Its clock says tomorrow: what counts is whether it is renewed.
	if err := leases.Put(w.ctx(), control.Lease{Token: "dead", Owner: "cy", Since: start, Renewed: time.Now().Add(24 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	l := s.newLease(operation{id: "op-a", by: "ana", word: "replay", reason: "x"})
	if err := l.await(w.ctx()); err != nil {
		t.Fatal(err)
	}
	if err := l.take(w.ctx()); err != nil || w.lease().Token != l.record.Token {
		t.Errorf("%v; the lease is %s", err, w.lease())
	}
	l.release(w.ctx())
}

// Two calls of one service are as two processes: the second is refused, or waits, while the first one is at work. Questions are
// answered meanwhile.
func TestService_C4_twoCallsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kfake.SeedTopics(2, "elsewhere"))
	w.dieMany(10)
	s := w.service()
	p := w.plan(s, deadletters.Filter{})
	first, gating := make(chan error, 1), make(chan struct{})
	var once sync.Once
	go func() {
		_, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("AREA mapped"), Ramp: ramp.Ramp{Canary: 2}, Progress: func(p Progress) {
			if p.Phase == Gating {
				once.Do(func() { close(gating) })
			}
		}})
		first <- err
	}()
	<-gating
	one := deadletters.Filter{IDs: []string{"letter-9"}}
	if _, err := s.Change(w.ctx(), one, Discard, Call{By: "bo", Reason: "x"}, nil); !errors.Is(err, ErrLeased) {
		t.Errorf("the second: %v", err)
	}
	waits := make(chan string, 1)
	third := Call{By: "cy", Reason: "not wanted", Lease: LeaseOptions{Wait: time.Minute, Waiting: func(holder string) { waits <- holder }}}
	last := make(chan error, 1)
	go func() {
		_, err := s.Change(w.ctx(), one, Escalate, third, nil)
		last <- err
	}()
	if holder := <-waits; !strings.HasPrefix(holder, "ana on ") {
		t.Errorf("the third waits for %s", holder)
	}
	var questions sync.WaitGroup
	for i := range 3 {
		questions.Go(func() {
			if _, err := s.Plan(w.ctx(), one, PlanOptions{ID: fmt.Sprintf("q%d", i), To: "elsewhere"}); err != nil {
				t.Error(err)
			}
			if r, err := s.Status(w.ctx(), "r1"); err != nil || r.UnderWay != 2 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	questions.Wait()
	w.consume(well)
	if err := <-first; err != nil {
		t.Errorf("the first: %v", err)
	}
	if err := <-last; err != nil {
		t.Errorf("the third: %v", err)
	}
	w.allReprocessed(10)
	by := map[string]int{}
	for _, e := range w.operations() {
		by[e.By]++
	}
	if by["ana"] != 1 || by["bo"] != 0 {
		t.Errorf("operations %v", by)
	}
}
