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
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// takingOver is the call of an operator who ends the replayer that is at work.
func takingOver(by, reason string) Call {
	return Call{By: by, Reason: reason, Lease: LeaseOptions{TakeOver: true}}
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
	view := must.Get(control.Read(w.ctx(), w.service().opts, "features.control"))(w.t)
	return view.Lease
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
