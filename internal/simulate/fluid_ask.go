package simulate

import "slices"

// attempt takes what is under way through one step of the pipeline after the other.
func (f *fluid) attempt() {
	f.failFresh(f.w.bad, f.w.BadRecords)
	for s := range f.w.steps {
		f.ask(s)
	}
	if n := sum(f.attempts); n > 0 {
		f.rec.delivered(f.now, n)
		f.gate.ended(f.firsts(f.attempts), 0, n, 0)
	}
	f.judge()
}

func sum(amounts []float64) (n float64) {
	for _, amount := range amounts {
		n += amount
	}
	return n
}

// open is what the providers of a step have not answered yet: the amounts by state, for each way in which the first one failed.
type open struct {
	reply   int // none: it was held back
	amounts []float64
}

// ask asks the providers of a step in their order. What fails for a reason that does not pass is decided upon at the first one; all
// else goes on to the next, and what nobody answers fails, or is held, as the first one had it.
func (f *fluid) ask(step int) {
	first := f.w.steps[step][0]
	rest := f.askFirst(first)
	for _, p := range f.w.steps[step][1:] {
		f.askNext(p, rest)
	}
	for _, o := range rest {
		if o.reply == none {
			f.hold(step, o.amounts, first)
		} else {
			f.fail(o.reply, f.missing(o.amounts, first))
		}
	}
}

// askFirst asks the first provider for all that is under way, and takes out what it does not answer.
func (f *fluid) askFirst(p int) (rest []open) {
	asking := slices.Clone(f.attempts)
	for s := range asking {
		if hits := f.w.providers[p].hits; hits > 0 && f.kernels.states[s].missed != p+1 {
			f.rec.requests[p].cached += asking[s] * hits
			asking[s] *= 1 - hits
		}
	}
	take := func(share float64) []float64 {
		out := make([]float64, len(asking))
		for s, n := range asking {
			out[s] = n * share
			f.attempts[s] = max(0, f.attempts[s]-out[s])
		}
		return out
	}
	a := f.send(p, sum(asking))
	several := len(f.w.steps[f.w.providers[p].step]) > 1
	for _, fault := range a.failed {
		if fault.share <= 0 {
			continue
		}
		if taken := take(fault.share); several && f.w.replies[fault.reply].passes {
			rest = append(rest, open{fault.reply, taken})
		} else {
			f.fail(fault.reply, f.missing(taken, p))
		}
	}
	if a.held > 0 {
		rest = append(rest, open{none, take(a.held)})
	}
	return rest
}

// askNext asks a fallback for what is open. What it does not answer stays open, whatever the reason.
func (f *fluid) askNext(p int, rest []open) {
	all := 0.0
	for _, o := range rest {
		all += sum(o.amounts)
	}
	if all == 0 {
		return
	}
	hits := f.w.providers[p].hits
	a := f.send(p, all*(1-hits))
	answered := hits + (1-hits)*a.good()
	f.rec.requests[p].cached += all * hits
	f.rec.requests[p].fallbacks += all * answered
	for _, o := range rest {
		for s, n := range o.amounts {
			f.attempts[s] += n * answered
			o.amounts[s] = n * (1 - answered)
		}
	}
}

// missing gives the amounts by states that remember in whose cache they are not.
func (f *fluid) missing(amounts []float64, p int) []float64 {
	if f.w.providers[p].hits == 0 {
		return amounts
	}
	to := make([]int, len(amounts)) // before out: it may add states
	for s, n := range amounts {
		if n > 0 {
			to[s] = f.missed(s, p)
		}
	}
	out := make([]float64, len(f.kernels.states))
	for s, n := range amounts {
		out[to[s]] += n
	}
	return out
}

func (f *fluid) missed(s, p int) int {
	to := f.kernels.states[s]
	to.missed = p + 1
	return f.kernels.intern(to)
}

// hold keeps amounts for which nobody may be asked: they have spent no attempt, and go on once somebody may.
func (f *fluid) hold(step int, amounts []float64, first int) {
	for s, n := range f.missing(amounts, first) {
		if n == 0 {
			continue
		}
		f.held[step].add(f.at, s, n, f.fresh(s))
		f.rec.stay(f.now, f.kernels.states[s].tier, n)
	}
}
