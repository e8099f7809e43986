package simulate

import (
	"math/rand/v2"
	"time"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/enrich"
)

// question is the state of a record among its providers.
type question struct {
	step, choice int
	first        int           // reply of the step's first provider; none if no request could be sent to it
	until        time.Duration // earliest time at which a provider that received no request may receive one; 0 if there is none
	pass         breaker.Pass
	ticket       enrich.QuotaTicket
	reply        int // none: a good answer
}

// provider returns the index of the current provider.
func (x *simulation) provider(it *item) int { return x.w.steps[it.request.step][it.request.choice] }

// step sends the requests of one step to its providers, in order.
func (x *simulation) step(it *item, step int) {
	if step == len(x.w.steps) {
		x.deliver(it)
		return
	}
	it.request = question{step: step, first: none}
	x.ask(it)
}

// ask takes the answer from the cache, or sends the request once there is a connection.
func (x *simulation) ask(it *item) {
	p := x.provider(it)
	if x.hit(it, p) {
		x.rec.out.Providers[p].Cached++
		x.answered(it)
		return
	}
	l := &it.home.providerStates[p]
	if limit := x.w.providers[p].Connections; limit > 0 && l.turns == limit {
		l.queue = append(l.queue, it)
		return
	}
	l.turns++
	x.throttle(it)
}

// hit reports whether the answer is in the cache; it is always the same for one record and one provider.
func (x *simulation) hit(it *item, p int) bool {
	share := x.w.providers[p].hits
	return share > 0 && rand.New(rand.NewPCG(uint64(it.number), uint64(p)^uint64(x.w.Seed))).Float64() < share
}

// throttle enforces the client's own rate limit, as the remote steps do: a request waits for its turn no longer than
// its own time limit.
func (x *simulation) throttle(it *item) {
	p := x.provider(it)
	if until, deferred := x.deferred(it.home, p); deferred {
		x.back(it)
		x.unanswered(it, none, until)
		return
	}
	limiter := it.home.providerStates[p].limiter
	if limiter == nil {
		x.send(it)
		return
	}
	place := limiter.ReserveN(x.time(), 1)
	switch wait := place.DelayFrom(x.time()); {
	case wait > x.w.providers[p].Timeout:
		place.CancelAt(x.time())
		x.back(it)
		x.unanswered(it, none, x.now+wait)
	case wait > 0:
		x.after(wait, it, x.send)
	default:
		x.send(it)
	}
}

// send asks the breaker and the quota and, if they allow it, the provider.
func (x *simulation) send(it *item) {
	p := x.provider(it)
	l := &it.home.providerStates[p]
	if until, deferred := x.deferred(it.home, p); deferred {
		x.back(it)
		x.unanswered(it, none, until)
		return
	}
	if l.circuit != nil {
		it.request.pass = l.circuit.Enter()
	}
	it.request.ticket, _ = l.quota.Take()
	x.rec.request(x.now, p)
	it.request.reply = x.reply(p)
	latency := x.w.providers[p].latency
	if it.request.reply != none {
		latency = x.w.replies[it.request.reply].latency
	}
	x.after(latency, it, x.take)
}

// reply draws a provider's answer; none is a good answer.
func (x *simulation) reply(p int) int {
	service := &x.w.providers[p]
	for _, o := range service.outages {
		if o.at(x.now) && x.random.Float64() < o.share {
			return o.reply
		}
	}
	if !x.limits[p].AllowN(x.time(), 1) {
		x.rec.out.Providers[p].Limited++
		return service.limited
	}
	if x.random.Float64() < service.errors.share {
		return service.errors.reply
	}
	return none
}

// take handles an answer. If the service asked for a pause meanwhile, or its breaker opened, the record is deferred and the
// failure does not count.
func (x *simulation) take(it *item) {
	p := x.provider(it)
	l := &it.home.providerStates[p]
	reply, end, known := it.request.reply, breaker.Success, false
	advice := enrich.QuotaAdvice{}
	if reply != none {
		advice.Pause = x.w.replies[reply].pause
		end = x.w.replies[reply].end
	}
	if l.quota.Done(it.request.ticket, advice) && advice.Pause > 0 {
		known = true
	}
	if l.circuit != nil && l.circuit.Leave(x.now, it.request.pass, end) {
		known = true
	}
	x.back(it)
	switch {
	case known:
		until, _ := x.deferred(it.home, p)
		x.unanswered(it, none, until)
	case reply != none:
		x.unanswered(it, reply, 0)
	default:
		x.answered(it)
	}
}

// back returns a connection to the next record that waits for it.
func (x *simulation) back(it *item) {
	l := &it.home.providerStates[x.provider(it)]
	l.turns--
	if len(l.queue) > 0 {
		next := l.queue[0]
		l.queue = l.queue[1:]
		l.turns++
		x.throttle(next)
	}
}

// answered continues with the next step.
func (x *simulation) answered(it *item) {
	if it.request.choice > 0 {
		x.rec.out.Providers[x.provider(it)].Fallbacks++
	}
	x.step(it, it.request.step+1)
}

// unanswered tries the next provider, if there is one and the first one's failure is transient. The first one's
// failure counts in the end. reply is none if no request may be sent to the provider until a time.
func (x *simulation) unanswered(it *item, reply int, until time.Duration) {
	q := &it.request
	if reply == none {
		x.rec.out.Providers[x.provider(it)].Deferred++
		if q.until == 0 || until < q.until {
			q.until = until
		}
	}
	if q.choice == 0 {
		q.first = reply
	}
	if last := q.choice == len(x.w.steps[q.step])-1; !last && (q.first == none || x.w.replies[q.first].passes) {
		q.choice++
		x.ask(it)
		return
	}
	if q.first == none {
		x.deferRecord(it, q.step, q.until)
		return
	}
	x.fail(it, q.first)
}

// stepDeferred reports whether no provider of a step may be called now, and until when.
func (x *simulation) stepDeferred(in *instance, step int) (until time.Duration, deferred bool) {
	if x.w.cached(step) {
		return 0, false // cached answers are returned while no request is sent
	}
	for _, p := range x.w.steps[step] {
		free, waits := x.deferred(in, p)
		if !waits {
			return 0, false
		}
		if !deferred || free < until {
			until, deferred = free, true
		}
	}
	return until, deferred
}

// deferred reports whether a provider may not be called now, and until when: its breaker is open, or it asked for a
// pause.
func (x *simulation) deferred(in *instance, p int) (until time.Duration, deferred bool) {
	l := &in.providerStates[p]
	if l.circuit != nil {
		if wait, open := l.circuit.Defers(x.now); open {
			return x.now + wait, true
		}
	}
	wait := l.quota.Wait()
	return x.now + wait, wait > 0
}

// deferredList has the records that wait for a step whose providers may not be called (retrytopics.UnavailableError).
type deferredList struct {
	until   time.Duration
	timed   time.Duration // when the next probe is scheduled
	items   []*item
	probing *item
}

// deferRecord keeps a record for which no provider may be called. It uses no attempt.
func (x *simulation) deferRecord(it *item, step int, until time.Duration) {
	in := it.home
	h := in.deferred[step]
	if h == nil {
		h = &deferredList{}
		in.deferred[step] = h
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

// probe lets one deferred record try, once its time has come.
func (x *simulation) probe(in *instance, step int) {
	h := in.deferred[step]
	if h == nil || h.probing != nil || h.until > x.now || len(h.items) == 0 {
		return
	}
	h.probing, h.items = h.items[0], h.items[1:]
	in.runnable.push(h.probing)
	x.dispatch(in)
}

// free returns the slot of an attempt. If the attempt was the probe of a step and was not deferred there again, the records
// deferred for the step continue.
func (x *simulation) free(it *item, again int) {
	in := it.home
	in.running--
	it.stale = in.gates.Over(it.flight())
	for step, h := range in.deferred {
		if h == nil || h.probing != it {
			continue
		}
		h.probing = nil
		if step != again {
			in.runnable.push(h.items...)
			in.deferred[step] = nil
		}
	}
	x.dispatch(in)
}
