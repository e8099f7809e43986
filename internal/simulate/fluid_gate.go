package simulate

import (
	"math"
	"time"

	"github.com/switchback-geo/switchback/internal/tolerance"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// Reasons of a hold for one failure.
const (
	holdsAlone = "one failure with this code is enough (pipeline.tolerance)"
	holdsSpent = "the attempts of a record are used up, and failures of its category hold the pipeline then"
)

// whyHeld says why a failure holds the pipeline.
func (s System) whyHeld(f classify.Failure) string {
	if s.Holds(f, "") {
		return holdsAlone
	}
	return holdsSpent
}

// gate is the gates of one instance; all are alike, and the first to hold holds all.
type gate struct {
	gates     *tolerance.Gates
	instances float64
	counted   [4]float64 // first attempts, those that failed transiently, finished, dead: of one instance, not told yet
	standing  bool
	since     time.Duration
}

func newGate(w *world) gate {
	return gate{gates: tolerance.New(w.sys.Tolerance), instances: float64(w.Instances)}
}

// ended notes first attempts and ends of records of the whole fleet. What is in flight is not known one by one here, and in the mean
// it changes no share.
func (g *gate) ended(first, transient, finished, dead float64) {
	for i, n := range [4]float64{first, transient, finished, dead} {
		g.counted[i] += n / g.instances
	}
}

// take gives the whole ones of what was counted.
func (g *gate) take() tolerance.Amounts {
	var whole [4]int64
	for i := range g.counted {
		n := math.Floor(g.counted[i])
		whole[i] = int64(n)
		g.counted[i] -= n
	}
	return tolerance.Amounts{First: whole[0], Transient: whole[1], Finished: whole[2], Dead: whole[3]}
}

// firsts is how much of amounts, by state, are first attempts.
func (f *fluid) firsts(amounts []float64) (n float64) {
	for s, amount := range amounts {
		if f.kernels.states[s].attempt == 1 {
			n += amount
		}
	}
	return n
}

// judge holds the pipeline when its gates have counted too much.
func (f *fluid) judge() {
	for _, b := range f.gate.gates.Count(start().Add(f.now), f.gate.take()) {
		f.stand(string(b.Code), b.String())
		return
	}
}

func (f *fluid) stand(code, why string) {
	if f.gate.standing {
		return
	}
	f.gate.standing, f.gate.since = true, f.now
	f.rec.stood(f.now, code, why)
}

// goesOn says whether the pipeline is not held, and resumes it when it is time to.
func (f *fluid) goesOn() bool {
	g := &f.gate
	if again := f.w.ResumeAfter.Std(); g.standing && again > 0 && f.now >= g.since+again {
		g.standing = false
		g.gates.Reset()
		f.rec.released(f.now, true, f.inSource())
	}
	return !g.standing
}
