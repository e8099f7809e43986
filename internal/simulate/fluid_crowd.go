package simulate

import (
	"math"
	"slices"
)

// Bounds of the cohorts in one crowd, or two for each state when those are more. So a backlog that never drains costs no more
// with every step, however long it stands.
const (
	mostInOrder = 32768 // where steps look at the front alone
	mostInPool  = 512   // where each step looks at all of them
)

// finestMerge is where merging begins; it is doubled until it is enough.
const finestMerge = 1.0 / 4096

// cohort is records of one state that became due within a stretch of time.
type cohort struct {
	state    int
	amount   float64
	at       float64 // step in which they became due, on average
	from, to int     // steps in which the first and the last of them did
}

// newCohort is of what became due in one step.
func newCohort(at, state int, amount float64) cohort {
	return cohort{state: state, amount: amount, at: float64(at), from: at, to: at}
}

// with gives two cohorts as one. Neither their amount nor the mean of their due times changes.
func (c cohort) with(o cohort) cohort {
	c.amount += o.amount
	c.at += (o.at - c.at) * (o.amount / c.amount)
	c.from, c.to = min(c.from, o.from), max(c.to, o.to)
	return c
}

// crowd is records that wait, in the order in which they are taken.
type crowd struct {
	cohorts []cohort
	sum     float64
	most    int
	grain   float64 // of the coarsest merge so far; 0 when none was needed
}

// add puts a cohort behind the others.
func (w *crowd) add(now int, c cohort, states int) {
	if c.amount <= 0 {
		return
	}
	w.sum += c.amount
	w.cohorts = append(w.cohorts, c)
	w.bound(now, states)
}

// bound merges cohorts when there are too many: until half of them are left, so that this is rarely needed.
func (w *crowd) bound(now, states int) {
	most := max(w.most, 2*states)
	if len(w.cohorts) <= most {
		return
	}
	for grain := finestMerge; len(w.cohorts) > most/2; grain *= 2 {
		if grain > 1 {
			grain = math.Inf(1) // one of each state
		}
		w.cohorts = merged(w.cohorts, now, grain)
		w.grain = max(w.grain, min(grain, 1))
	}
}

// merged makes one of cohorts of a state whose due times are apart by no more than a share, grain, of how late the last of them
// is by now (and a step). So the lateness of no record changes by more than that share of it, since a record that waits only gets
// later. What is made stands where the first of them stood. It overwrites what it is given.
func merged(all []cohort, now int, grain float64) []cohort {
	states := 0
	for _, c := range all {
		states = max(states, c.state+1)
	}
	latest := make([]int, states) // indexes of out, and one; 0: none
	out := all[:0]
	for _, c := range all {
		if i := latest[c.state] - 1; i >= 0 {
			if both := out[i].with(c); float64(both.to-both.from) <= grain*float64(now-both.to+1) {
				out[i] = both
				continue
			}
		}
		out = append(out, c)
		latest[c.state] = len(out)
	}
	return out
}

// take takes up to an amount from the front.
func (w *crowd) take(amount float64, each func(c cohort, n float64)) {
	gone := 0
	for i := range w.cohorts {
		c := &w.cohorts[i]
		n := min(c.amount, amount)
		if n <= 0 {
			break
		}
		amount -= n
		w.sum -= n
		each(*c, n)
		if c.amount -= n; c.amount > 0 {
			break
		}
		gone++
	}
	if w.cohorts = w.cohorts[gone:]; len(w.cohorts) == 0 {
		w.sum = 0 // what rounding left
	}
}

// putFront puts cohorts before all others.
func (w *crowd) putFront(now int, back []cohort, states int) {
	for _, c := range back {
		w.sum += c.amount
	}
	w.cohorts = slices.Concat(back, w.cohorts)
	w.bound(now, states)
}

// pool is records that wait, each of them as likely as the other to be taken next.
type pool struct {
	amounts []float64 // by state
	sum     float64
	dues    crowd // when those became due that have been in a tier; of no state, since all states go alike
}

func newPool() pool { return pool{dues: crowd{most: mostInPool}} }

// add puts records of a state into the pool. Of those that have not been in a tier nobody asks how late they are.
func (p *pool) add(now, state int, amount float64, fresh bool) {
	for len(p.amounts) <= state {
		p.amounts = append(p.amounts, 0)
	}
	p.amounts[state] += amount
	p.sum += amount
	if !fresh {
		p.dues.add(now, newCohort(now, 0, amount), 1)
	}
}

// pour empties a pool into another one.
func (p *pool) pour(now int, into *pool) {
	for state, n := range p.amounts {
		into.add(now, state, n, true)
	}
	for _, c := range p.dues.cohorts {
		into.dues.add(now, c, 1)
	}
	into.dues.grain = max(into.dues.grain, p.dues.grain)
	p.empty()
}

// empty forgets all but how coarsely it was merged.
func (p *pool) empty() {
	clear(p.amounts)
	p.sum, p.dues.sum, p.dues.cohorts = 0, 0, p.dues.cohorts[:0]
}

// take takes a share of all there is. due is told when what it takes became due.
func (p *pool) take(share float64, each func(state int, n float64), due func(at, n float64)) {
	for state, n := range p.amounts {
		if n > 0 {
			each(state, n*share)
			p.amounts[state] = n - n*share
		}
	}
	for i := range p.dues.cohorts {
		c := &p.dues.cohorts[i]
		due(c.at, c.amount*share)
		c.amount -= c.amount * share
	}
	p.sum -= p.sum * share
	p.dues.sum -= p.dues.sum * share
	if share == 1 {
		p.empty()
	}
}
