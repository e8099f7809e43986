package simulation

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/faults"
	"github.com/switchback-geo/switchback/integration/simulation/judge"
	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// Result is the result of a world.
type Result struct {
	Violations []judge.Violation
	Story      string        // the events of the world
	Journeys   []string      // of the records of the first violations
	Virtual    time.Duration // duration of the world, by its own clock
	Rest       time.Duration // from the last fault until everything had ended; negative if not within the bound
	Busy       int64         // the most requests of one process within judge.BusyWindow
	Digest     string        // of all evidence; equal if a run repeats another one exactly
}

// Fails reports whether a promise was broken.
func (r Result) Fails() bool { return len(r.Violations) > 0 }

// mostJourneys limits the journeys of a failure.
const mostJourneys = 3

// Play runs one world in a bubble of testing/synctest. dir is an empty folder. The engines log to logs unless it is nil.
// An error is a failure of the simulation itself.
func Play(p plan.Plan, dir string, logs io.Writer) (Result, error) {
	kinds := make([]faults.Kind, len(p.Faults))
	for i, f := range p.Faults {
		kind, ok := faults.Find(f.Kind)
		if !ok {
			return Result{}, fmt.Errorf("there is no kind of fault %q", f.Kind)
		}
		kinds[i] = kind
	}
	w, err := world.New(p, world.Options{Dir: durable(kinds, dir), Logs: logs})
	if err != nil {
		return Result{}, err
	}
	defer w.Close()
	var strikes sync.WaitGroup
	for i, f := range p.Faults {
		strikes.Go(func() {
			if w.Until(f.At) {
				kinds[i].Strike(w, f)
			}
		})
	}
	strikes.Wait()
	bound := judge.Bound(p)
	for _, k := range kinds {
		bound += k.Lasts
	}
	rest, left := w.Rest(bound)
	w.StopAll()
	evidence, err := w.Evidence(rest, bound, left)
	if err != nil {
		return Result{}, err
	}
	evidence.Repeats = repeats(p, kinds)
	return result(w, evidence), nil
}

func result(w *world.World, e judge.Evidence) Result {
	r := Result{Violations: judge.Verdict(e), Story: w.Story.String(), Virtual: w.Now(), Rest: e.Rest, Busy: e.Busy, Digest: e.Digest()}
	shown := map[string]bool{"": true}
	for _, v := range r.Violations {
		if !shown[v.Source] && len(r.Journeys) < mostJourneys {
			shown[v.Source] = true
			r.Journeys = append(r.Journeys, judge.Journey(e, v.Source))
		}
	}
	return r
}

// durable returns the folder for the cluster's data if a fault needs it. Otherwise the data stays in memory.
func durable(kinds []faults.Kind, dir string) string {
	for _, k := range kinds {
		if k.Durable {
			return dir
		}
	}
	return ""
}

// repeats returns how often an attempt at a record may be repeated. Each instance that joins aborts the open
// transactions of the others.
func repeats(p plan.Plan, kinds []faults.Kind) int {
	n := 1 + p.Engine.Instances
	for i, f := range p.Faults {
		n += kinds[i].Redoes(f)
	}
	return n
}
