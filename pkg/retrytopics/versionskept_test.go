package retrytopics_test

import (
	"context"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// windows are dedupe windows that have forgotten everything by the time the next event comes.
func windows() []time.Duration { return []time.Duration{0, time.Nanosecond} }

// S0-6: a version is remembered as long as its key, whatever the dedupe window: over restarts, over deletes, and for events that
// are not about the key's newest state.
func TestEngine_S0_6_aVersionLivesAsLongAsItsKey(t *testing.T) {
	t.Parallel()
	for _, window := range windows() {
		t.Run(window.String(), func(t *testing.T) {
			t.Parallel()
			f := newForcing(t, retrytopics.OrderLatestWins, true)
			f.cfg.Dedupe.Window = window
			f.sends("k/5", "k/4")
			f.want("k/5 delivered", "k/4 superseded")
			f.sends("k/3") // each time, another engine that was just started
			f.want("k/3 superseded")
			f.sends("k/6", "k/5")
			f.want("k/6 delivered", "k/5 superseded")
			f.produce(f.deletes())
			f.drain(f.engine(f.cfg))
			f.want(" delivered")
			f.sends("k/5", "k/6", "k/5")
			f.want("k/5 superseded", "k/6 delivered", "k/5 superseded") // sent again behind the delete, it is the newer one
		})
	}
}

// What was sent before a delete is older than it, however great its version: also when somebody sets the group's offsets back and
// it is read once more, long after it was finished.
func TestEngine_S0_6_whatADeleteCoversStaysDeleted(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.cfg.Dedupe.Window = 0
	f.fail["k/7 1"] = unavailable
	f.produce(event("k/5"), event("k/7"), f.deletes())
	f.drain(f.engine(f.cfg))
	f.want("k/5 delivered", "k/7 retried", " delivered", "k/7 superseded")
	delete(f.fail, "k/7 1")
	f.resets(f.cfg.Group, 0)
	f.drain(f.engine(f.cfg))
	f.want("k/5 superseded", "k/7 superseded", " superseded")
}

// A delete of a key that was long forgotten counts as newer than its newest event, by the version that a table is guarded with.
func TestEngine_S0_6_aDeleteHasTheVersionOfTheNewestEvent(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.cfg.Dedupe.Window = 0
	f.sends("k/5")
	var heard header.Version
	f.hears(func(r *retrytopics.Record) { heard, _ = r.Version(nil, true) })
	f.produce(f.deletes())
	f.drain(f.engine(f.cfg))
	expect.That(t, heard == (header.Version{Number: 5, Offset: 1}), "the delete is told to be %v", heard)
}

// Where the source offset orders events, nothing older can come, and nothing is kept.
func TestEngine_S0_6_byOffsetNothingIsKept(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, false)
	f.cfg.Dedupe.Window = 0
	f.sends("k/A", "k/B")
	f.want("k/A delivered", "k/B delivered")
	state := f.read(source + ".state")
	left, versions := compacted(state), versionsIn(state)
	expect.That(t, len(left)+len(versions) == 0, "the state knows %q, %q", left, versions)
}

// hears calls tell in every attempt.
func (f *forcing) hears(tell func(*retrytopics.Record)) {
	handle := f.cfg.Handler
	f.cfg.Handler = func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		tell(r)
		return handle(ctx, r)
	}
}

// S4-14: after a re-creation of the source the version still decides: an older one is superseded, and the same one, sent again,
// takes effect.
func TestEngine_S0_6_S4_14_versionsOutliveAReCreatedSource(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.sends("k/5", "k/6")
	f.took = nil
	f.recreate(source)
	f.produce(event("k/5"), event("k/6"), event("k/7"), f.deletes(), event("k/6"))
	e := f.engine(f.cfg)
	f.refusesMemory(e, "was deleted and re-created")
	plan := f.adopts(e, retrytopics.MismatchSource)
	expect.That(t, plan.Versions == 1 && plan.Forgotten == 1, "%+v", plan)
	f.drain(e)
	f.want("k/5 superseded", "k/6 delivered", "k/7 delivered", " delivered", "k/6 superseded")
}

// S4-14: with the state topic the versions are lost, and that is said before anything is adopted.
func TestEngine_S0_6_S4_14_versionsAreLostWithTheStateTopic(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.cfg.Dedupe.Window = 0
	f.sends("k/5")
	f.took = nil
	f.recreate(source + ".state")
	e := f.engine(f.cfg)
	f.refusesMemory(e, "has lost the checkpoint")
	plan := f.adopts(e, retrytopics.MismatchState)
	expect.That(t, plan.Versions == 0, "%+v", plan)
	f.sends("k/4", "k/3")
	f.want("k/4 delivered", "k/3 superseded")
}
