package replay

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// reads commits for a group that it has read so many records of each partition of a topic.
func (w *world) reads(group, topic string, offset int64) {
	w.t.Helper()
	var offsets kadm.Offsets = kadm.Offsets{}
	for p := range int32(3) {
		offsets.AddOffset(topic, p, offset, -1)
	}
	must.Do(w.t, kadm.NewClient(w.writer).CommitAllOffsets(w.ctx(), group, offsets))
}

// readsAll commits for a group what a Java consumer commits that has read a topic: the offset behind the last record of each partition,
// which is not behind the marker of its transaction.
func (w *world) readsAll(group, topic string) {
	w.t.Helper()
	offsets := kadm.Offsets{}
	for _, r := range w.read(topic) {
		offsets.AddOffset(topic, r.Partition, r.Offset+1, -1)
	}
	must.Do(w.t, kadm.NewClient(w.writer).CommitAllOffsets(w.ctx(), group, offsets))
}

// A wave counts as consumed once the group has committed beyond it and nothing of it died again for the grace after that. What dies again
// in that time stops the replay.
func TestWatch_C4_S2_6_theGroupPassesEachWave(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]bool{"nothing dies again": false, "one dies again": true} {
		t.Run(name, func(t *testing.T) {
			w := anyDLQ(t)
			w.dieOfSpring(9)
			w.reads("billing", "payments", 0)
			var now atomic.Int64 // seconds since the start
			s := w.aloneService(func() time.Time { return start.Add(time.Duration(now.Load()) * time.Second) })
			plan := w.plan(s, deadletters.Filter{})
			looks := 0
			r, err := s.Execute(w.ctx(), plan, ExecuteOptions{
				Call: ana("x"), Ramp: ramp.Ramp{Canary: 2, Gated: true}, Grace: time.Minute, WatchGroup: "billing", Wait: true,
				Progress: func(p Progress) {
					if p.Phase != Gating && p.Phase != Waiting {
						return
					}
					switch looks++; {
					case looks == 1 || looks == 2:
						now.Add(600) // the grace has not begun: the group has read nothing
						if n := len(w.read("payments")); n != 2 {
							t.Errorf("%d were put back while the group had not passed the canary", n)
						}
					case looks == 3:
						w.reads("billing", "payments", 100)
					case dies:
						sent := w.read("payments")[0]
						failed := ofSpring(0)
						failed.Headers = append(sent.Headers, failed.Headers...)
						w.die(failed)
						dies = false
					default:
						now.Add(60)
					}
				},
			})
			var stop *StopError
			switch {
			case name == "one dies again" && (!errors.As(err, &stop) || r.Reinjected != 2 || r.Outcome.FailedAgain != 1 || r.Outcome.Consumed != 0):
				t.Errorf("%+v %+v, %v", r, r.Outcome, err)
			case name == "nothing dies again" && (err != nil || r.Reinjected != 9 || r.Outcome.Consumed != 9 || r.Outcome.UnderWay != 0):
				t.Errorf("%+v %+v, %v", r, r.Outcome, err)
			}
		})
	}
}

// A group that does not move stops the replay, and says how far it is behind; applied again, the replay waits for the same records.
func TestWatch_C4_S2_6_aGroupThatStandsStill(t *testing.T) {
	t.Parallel()
	w := anyDLQ(t)
	w.dieOfSpring(9)
	w.reads("billing", "payments", 0)
	var now atomic.Int64
	s := w.aloneService(func() time.Time { return start.Add(time.Duration(now.Add(60)) * time.Second) })
	plan := w.plan(s, deadletters.Filter{})
	o := ExecuteOptions{Call: ana("x"), Ramp: ramp.Ramp{Canary: 3, Gated: true}, WatchGroup: "billing", Patience: 10 * time.Minute}
	for range 2 {
		r, err := s.Execute(w.ctx(), plan, o)
		stop, ok := errors.AsType[*StopError](err)
		if !ok || stop.Group != "billing" || stop.Behind < 3 || !strings.Contains(err.Error(), "group billing") || len(w.read("payments")) != 3 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	o.Progress = func(Progress) { w.readsAll("billing", "payments") }
	if r, err := s.Execute(w.ctx(), plan, o); err != nil || r.Reinjected != 6 || len(w.read("payments")) != 9 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestWatch_S4_8_refusesAGroupThatThereIsNot(t *testing.T) {
	t.Parallel()
	w := anyDLQ(t)
	w.dieOfSpring(1)
	s := w.aloneService(atStart)
	for want, o := range map[string]ExecuteOptions{
		"no such consumer group": {Call: ana("x"), WatchGroup: "nobody"},
		"--watch-group":          {Call: ana("x"), Wait: true},
	} {
		if _, err := s.Execute(w.ctx(), w.plan(s, deadletters.Filter{}), o); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if n := len(w.read("payments")); n != 0 {
		t.Errorf("%d were put back", n)
	}
}
