package replay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
)

// A replay that stopped is told until the same plan has come to its end: what was not sent, why, and the command that goes on.
func TestOverview_S4_8_tellsWhatStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(12)
	s := w.service()
	p := w.plan(s, deadletters.Filter{})
	o := ExecuteOptions{Call: ana("AREA mapped"), Ramp: ramp.Ramp{Canary: 2}, GoOn: "replayer replay --plan plan.jsonl --execute --reason 'AREA mapped'"}
	w.consume(func(int32) deadletters.Status { return deadletters.Pending })
	_, err := s.Execute(w.ctx(), p, o)
	if _, stopped := errors.AsType[*StopError](err); !stopped {
		t.Fatal(err)
	}
	look := w.look(w.service().Overview())
	if len(look.Stopped) != 1 || look.Finished != 0 {
		t.Fatalf("%+v", look)
	}
	stop := look.Stopped[0]
	if stop.ReplayID != "r1" || stop.By != "ana" || stop.Letters != 12 || stop.NotSent != 10 || !strings.Contains(stop.Why, "2 of the 2 dead letters of wave 1 failed again") || stop.Command != o.GoOn {
		t.Errorf("%+v", stop)
	}
	if _, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("again")}); err != nil {
		t.Fatal(err)
	}
	if look := w.look(w.service().Overview()); len(look.Stopped) != 0 {
		t.Errorf("%+v", look.Stopped)
	}
	done := map[string]int{} // each call is an action of its own, with its reason and what it did
	all, err := s.Actions(w.ctx(), TrailFilter{})
	for _, act := range all {
		done[act.Reason] += act.Done[audit.Replayed]
	}
	if err != nil || len(all) != 2 || done["AREA mapped"] != 2 || done["again"] != 12 {
		t.Errorf("%+v, %v", all, err)
	}
}

// A replayer that was killed has said nothing. What it was about to send is known from its beginning.
func TestOverview_S4_8_tellsOfAReplayerThatDied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(5)
	s := w.service()
	w.execute(s, w.plan(s, deadletters.Filter{Limit: 2}))
	leases, err := control.OpenLeases(s.opts, "features.control")
	if err != nil {
		t.Fatal(err)
	}
	defer leases.Close()
	if err := leases.PutReplay(w.ctx(), control.Replay{ID: "r1", By: "ana", Letters: 5, Running: true, At: start}); err != nil {
		t.Fatal(err)
	}
	look := w.look(w.service().Overview())
	if len(look.Stopped) != 1 || look.Stopped[0].NotSent != 3 || !strings.Contains(look.Stopped[0].Why, "killed") {
		t.Errorf("%+v", look.Stopped)
	}
	holder := control.Lease{Token: "x", Operation: "r1", Renewed: start, Generation: 99}
	if err := leases.Put(w.ctx(), holder); err != nil {
		t.Fatal(err)
	}
	if look := w.look(w.service().Overview()); len(look.Stopped) != 0 {
		t.Errorf("it is at work: %+v", look.Stopped)
	}
	late := w.service()
	late.now = func() time.Time { return start.Add(late.KeepResolved() + time.Hour) }
	if look := w.look(late.Overview()); len(look.Stopped) != 0 {
		t.Errorf("long ago: %+v", look.Stopped)
	}
}

// One that was interrupted has stopped, too.
func TestOverview_S4_8_tellsOfAnInterruption(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(6)
	s := w.service()
	p := w.plan(s, deadletters.Filter{})
	ctx, cancel := context.WithCancel(w.ctx())
	_, err := s.Execute(ctx, p, ExecuteOptions{Call: ana("x"), Ramp: ramp.Ramp{Canary: 2}, Progress: func(p Progress) {
		if p.Phase == Gating {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if look := w.look(w.service().Overview()); len(look.Stopped) != 1 || look.Stopped[0].NotSent != 4 {
		t.Errorf("%+v", look.Stopped)
	}
}
