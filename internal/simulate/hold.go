package simulate

import "time"

// stepHeld reports whether no provider may be asked for a step now, and until when.
func (x *simulation) stepHeld(in *instance, step int) (until time.Duration, held bool) {
	if x.w.cached(step) {
		return 0, false // cached answers are given while nothing is sent
	}
	for _, p := range x.w.steps[step] {
		free, waits := x.held(in, p)
		if !waits {
			return 0, false
		}
		if !held || free < until {
			until, held = free, true
		}
	}
	return until, held
}

// held reports whether a provider may not be asked now, and until when: its breaker is open, or it asked for a pause.
func (x *simulation) held(in *instance, p int) (until time.Duration, held bool) {
	l := &in.lanes[p]
	if l.circuit != nil {
		if wait, open := l.circuit.Held(x.now); open {
			return x.now + wait, true
		}
	}
	wait := l.quota.Wait()
	return x.now + wait, wait > 0
}

// holdList has the records that wait for a step whose providers may not be asked (retrytopics.UnavailableError).
type holdList struct {
	until   time.Duration
	timed   time.Duration // when the next probe is scheduled
	items   []*item
	probing *item
}

// hold keeps a record for which no provider may be asked. It uses no attempt.
func (x *simulation) hold(it *item, step int, until time.Duration) {
	in := it.home
	h := in.holds[step]
	if h == nil {
		h = &holdList{}
		in.holds[step] = h
	}
	h.until = max(h.until, until)
	h.items = append(h.items, it)
	x.count(it, 1)
	if h.timed != h.until {
		h.timed = h.until
		x.after(max(h.until-x.now, 0), nil, func(*item) { x.probe(in, step) })
	}
	x.free(it, step)
}

// probe lets one held record try, once its time has come.
func (x *simulation) probe(in *instance, step int) {
	h := in.holds[step]
	if h == nil || h.probing != nil || h.until > x.now || len(h.items) == 0 {
		return
	}
	h.probing, h.items = h.items[0], h.items[1:]
	in.runnable.push(h.probing)
	x.dispatch(in)
}

// free returns the slot of an attempt. If it was the probe of a step and was not held there again, the records held for
// the step go on.
func (x *simulation) free(it *item, again int) {
	in := it.home
	in.running--
	it.stale = in.gates.Over(it.flight())
	for step, h := range in.holds {
		if h == nil || h.probing != it {
			continue
		}
		h.probing = nil
		if step != again {
			in.runnable.push(h.items...)
			in.holds[step] = nil
		}
	}
	x.dispatch(in)
}
