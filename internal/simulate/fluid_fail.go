package simulate

import (
	"cmp"
	"slices"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// failFresh lets a share of the records fail that are new: the others have shown that they are not bad.
func (f *fluid) failFresh(reply int, share float64) {
	if share <= 0 {
		return
	}
	n := f.attempts[0] * share
	f.attempts[0] -= n
	f.fail(reply, []float64{n})
}

// fail lets the engine's decision take amounts, by state, to their tiers or to the DLQ. What the pipeline is held for at once is put
// back.
func (f *fluid) fail(reply int, amounts []float64) {
	all := sum(amounts)
	if all == 0 {
		return
	}
	failure := f.w.replies[reply].failure
	if holding := f.holding(reply, amounts); holding > 0 && poisson(holding, f.random) > 0 {
		f.stand(string(failure.Code), f.w.sys.whyHeld(failure))
		f.putBack(amounts)
		return
	}
	transient := 0.0
	if failure.Transient() {
		transient = all
	}
	dead := 0.0
	for s, n := range amounts {
		if n == 0 {
			continue
		}
		k := f.kernels.of(s, reply)
		dead += n * k.dead
		if k.dead > 0 {
			f.rec.failed(f.now, n*k.dead, failure, retrytopics.OutcomeDeadLettered, k.reason)
		}
		if len(k.flows) > 0 {
			f.rec.failed(f.now, n*(1-k.dead), failure, retrytopics.OutcomeRetried, "")
			f.retry(k, n)
		}
	}
	f.gate.ended(all, transient, dead, dead)
}

// holding is how much of amounts holds the pipeline by itself.
func (f *fluid) holding(reply int, amounts []float64) float64 {
	failure := f.w.replies[reply].failure
	holding := 0.0
	for s, n := range amounts {
		if n > 0 && f.w.sys.Holds(failure, f.kernels.of(s, reply).reason) {
			holding += n
		}
	}
	return holding
}

// putBack makes amounts ready again whose attempts count for nothing.
func (f *fluid) putBack(amounts []float64) {
	var back []cohort
	for s, n := range amounts {
		switch {
		case n == 0:
		case s == 0:
			f.backlog += n
		default:
			back = append(back, newCohort(f.at, s, n))
			f.rec.stay(f.now, f.kernels.states[s].tier, n)
		}
	}
	f.ready.putFront(f.at, back, len(f.kernels.states))
}

// retry puts an amount of failed records where its kernel says.
func (f *fluid) retry(k *kernel, n float64) {
	for tier, share := range k.first {
		if share > 0 {
			f.rec.wait(f.now, tier, n*share)
		}
	}
	for _, to := range k.flows {
		after := max(to.after, 1) // what fails in this step cannot run in it
		f.reach(after)
		slot := (f.at + after) % len(f.coming)
		for len(f.coming[slot]) <= to.to {
			f.coming[slot] = append(f.coming[slot], 0)
		}
		f.coming[slot][to.to] += n * to.share
		f.inTiers += n * to.share
	}
	for _, m := range k.moves {
		f.reach(max(m.after, 1))
		slot := (f.at + max(m.after, 1)) % len(f.moving)
		f.moving[slot] = append(f.moving[slot], move{share: n * m.share, from: m.from, to: m.to})
	}
	f.rec.total.parked += n * k.parked
}

// reach makes room for what becomes due so many steps from now.
func (f *fluid) reach(after int) {
	if after < len(f.coming) {
		return
	}
	size := len(f.coming)
	for size <= after {
		size *= 2
	}
	coming, moving := make([][]float64, size), make([][]move, size)
	for n := range len(f.coming) {
		from, to := (f.at+n)%len(f.coming), (f.at+n)%size
		coming[to], moving[to] = f.coming[from], f.moving[from]
	}
	f.coming, f.moving = coming, moving
}

// sortFlows puts a kernel into an order, so that sums are the same in every run.
func sortFlows(k *kernel) {
	slices.SortFunc(k.flows, func(a, b flow) int { return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.to, b.to)) })
	slices.SortFunc(k.moves, func(a, b move) int {
		return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
}
