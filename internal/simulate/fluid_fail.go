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
	first, transient := f.firsts(amounts), 0.0
	if failure.Transient() {
		transient = first
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
	f.gate.ended(first, transient, dead, dead)
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
	f.work += 3*len(k.flows) + 4*len(k.moves)
	f.reach(k.last)
	for _, to := range k.flows {
		if due := f.later(to.after); due >= 0 {
			put(&f.coming[due], to.to, n*to.share)
		}
		f.inTiers += n * to.share
	}
	for _, m := range k.moves {
		if due := f.later(m.after); due >= 0 {
			put(&f.moving[due], 2*m.from+leaves, n*m.share)
			put(&f.moving[due], 2*m.to+enters, n*m.share)
		}
	}
	f.rec.total.parked += n * k.parked
	f.rec.again(k.again, n)
}

// Places of a tier's amounts in what is parked.
const (
	leaves = 0
	enters = 1
)

func put(amounts *[]float64, i int, n float64) {
	for len(*amounts) <= i {
		*amounts = append(*amounts, 0)
	}
	(*amounts)[i] += n
}

// later gives the place of what becomes due so many steps from now; none when the simulation is over by then.
func (f *fluid) later(after int) int {
	if after >= len(f.coming) {
		return none
	}
	return (f.at + max(after, 1)) & (len(f.coming) - 1) // what fails in this step cannot run in it
}

// reach makes room for what becomes due so many steps from now, as far as the simulation goes. The room is a power of two.
func (f *fluid) reach(after int) {
	size, end := len(f.coming), int((f.w.Duration.Std()+GiveUp)/f.step)+2
	for size <= min(after, end-f.at) {
		size *= 2
	}
	if size == len(f.coming) {
		return
	}
	coming, moving := make([][]float64, size), make([][]float64, size)
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
