package simulate

import (
	"time"

	"github.com/switchback-geo/switchback/internal/gates"
	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// arrive reads the next record from the source and schedules the following arrival. The times between arrivals are
// exponentially distributed: many independent producers.
func (x *simulation) arrive(it *item) {
	if it != nil {
		x.left++
		x.rec.out.Records++
		x.offer(it)
	}
	next := time.Duration(x.random.ExpFloat64() / x.w.Rate * float64(time.Second))
	if x.ended = x.now+next >= x.w.Duration.Std(); x.ended {
		return
	}
	arrived := &item{number: x.arrivals, key: none, bad: x.random.Float64() < x.w.BadRecords, attempt: 1, tier: source}
	owner := x.arrivals
	if x.w.keyed() {
		arrived.key = x.random.IntN(x.w.Keys)
		owner = arrived.key // one instance owns all records of a key
	}
	arrived.home = x.instances[owner%len(x.instances)]
	x.arrivals++
	x.after(next, arrived, x.arrive)
}

// offer makes a record runnable, unless another record of its key is, and starts records in free slots.
func (x *simulation) offer(it *item) {
	if x.chained(it) {
		return
	}
	x.ready(it)
	x.dispatch(it.home)
}

// ready puts a record into the queue of its kind.
func (x *simulation) ready(it *item) {
	if it.tier == source {
		it.home.runnable.push(it)
	} else {
		it.home.due.push(it)
	}
	x.count(it, 1)
}

// count records a change in the number of records that should have begun and have not.
func (x *simulation) count(it *item, n int) {
	if it.tier == source {
		x.queued += n
	} else {
		x.overdue += n
	}
}

// dispatch fills the free slots of an instance, alternately from the source and from the tiers, as the engine does. It
// starts nothing while the pipeline is paused.
func (x *simulation) dispatch(in *instance) {
	if in.dispatching {
		return // its caller is inside the loop below, which continues
	}
	in.dispatching = true
	defer func() { in.dispatching = false }()
	for !x.paused && in.running < x.w.sys.Concurrency && in.runnable.len()+in.due.len() > 0 {
		from := &in.runnable
		if in.due.len() > 0 && (in.favour || in.runnable.len() == 0) {
			from = &in.due
		}
		in.favour = from == &in.runnable
		it := from.pop()
		in.running++
		x.work++
		x.count(it, -1)
		x.begin(it)
	}
}

// begin starts an attempt. No request is sent while no provider of some step may be called.
func (x *simulation) begin(it *item) {
	it.begun = x.now
	if !x.admit(it) {
		return
	}
	it.home.gates.Begun(x.time(), it.flight(), "", it.attempt == 1)
	if it.bad {
		x.fail(it, x.w.bad)
		return
	}
	for s := range x.w.steps {
		if until, deferred := x.stepDeferred(it.home, s); deferred {
			x.deferRecord(it, s, until)
			return
		}
	}
	x.step(it, 0)
}

// flight names the attempt for the gates: one record has one attempt at a time.
func (it *item) flight() header.Position { return header.Position{Offset: int64(it.number)} }

// put lets a record wait in a tier.
func (x *simulation) put(it *item, tier int) {
	it.tier = tier
	x.rec.wait(x.now, tier, 1)
	x.after(x.w.sys.Wake(tier, it.due, x.time()).Sub(x.time()), it, x.surface)
}

// surface removes a record from its tier: it is due, or is parked again.
func (x *simulation) surface(it *item) {
	d, run := policy.Surface(x.w.sys.Tiers, it.due, x.time())
	if run {
		x.offer(it)
		return
	}
	x.park(it, d.Tier)
}

// park puts a record from one tier, or from the source, into another one without an attempt.
func (x *simulation) park(it *item, tier int) {
	if it.tier != source {
		x.rec.wait(x.now, it.tier, -1)
	}
	x.put(it, tier)
}

// keyed is the state of one key.
type keyed struct {
	busy   bool
	chain  []*item // waiting for the running one
	order  keyorder.Key
	newest int // number of the newest effective record plus one; 0: none
}

// chained reports whether a record must wait for another one of its key. Only one record of a key runs at a time.
func (x *simulation) chained(it *item) bool {
	if it.key == none {
		return false
	}
	k := x.keys[it.key]
	if k == nil {
		k = &keyed{}
		x.keys[it.key] = k
	}
	if k.busy {
		k.chain = append(k.chain, it)
		x.count(it, 1)
		return true
	}
	k.busy = true
	return false
}

// admit asks the engine's order whether a record may run, and parks it behind its predecessor if not.
func (x *simulation) admit(it *item) bool {
	if it.key == none || x.w.sys.Ordering.Mode != keyorder.Strict {
		return true
	}
	d, place, run := x.keys[it.key].order.Admit(x.w.sys.Ordering, it.place, it.tier != source, x.w.sys.Tiers, x.time())
	it.place = place
	if run {
		return true
	}
	it.due = d.Due
	x.rec.out.Behind++
	x.release(it, d)
	x.park(it, d.Tier)
	x.free(it, none)
	return false
}

// release applies the end of an attempt to the order of its key, and lets the next record of the key run.
func (x *simulation) release(it *item, d policy.Decision) {
	if it.key == none {
		return
	}
	k := x.keys[it.key]
	if x.w.sys.Ordering.Mode == keyorder.Strict {
		it.place = k.order.Ended(x.w.sys.Ordering, it.place, it.tier != source, d)
	}
	if d.Outcome == policy.OutcomeDelivered {
		k.newest = max(k.newest, it.number+1)
	}
	k.busy = false
	if len(k.chain) == 0 {
		return
	}
	next := k.chain[0]
	k.chain = k.chain[1:]
	k.busy = true
	x.count(next, -1)
	x.ready(next)
}

// superseded reports whether a newer record of the key has taken effect, so that this one must not.
func (x *simulation) superseded(it *item) bool {
	return it.key != none && x.w.sys.Ordering.Mode == keyorder.LatestWins && x.keys[it.key].newest > it.number
}

func (x *simulation) deliver(it *item) {
	x.counted(it)
	if x.superseded(it) {
		x.rec.superseded(x.now)
	} else {
		x.rec.delivered(x.now)
	}
	x.finish(it, policy.Decision{Outcome: policy.OutcomeDelivered})
	x.gate(it, gates.Outcome{Retry: it.attempt > 1, Finished: true, Delivered: true})
}

// fail lets the engine decide about a failed attempt. While the pipeline is paused, the attempt does not count, and the
// record becomes runnable again.
func (x *simulation) fail(it *item, r int) {
	f := x.w.replies[r].failure
	if x.w.sys.Holds(f, x.reason(it, f)) {
		x.pause(string(f.Code), whyPaused(x.w.sys, f))
	}
	if x.paused {
		x.putBack(it)
		return
	}
	x.counted(it)
	if f.Transient() && x.superseded(it) {
		x.rec.superseded(x.now)
		x.finish(it, policy.Decision{Outcome: policy.OutcomeSuperseded})
		return
	}
	d, retry := x.decide(it, x.w.replies[r]), it.attempt > 1
	x.rec.failed(x.now, f, d.Outcome, d.Reason)
	if d.Outcome != policy.OutcomeRetried {
		x.finish(it, d)
		x.gate(it, gates.Outcome{Retry: retry, Transient: f.Transient(), Finished: true, Dead: true})
		return
	}
	x.release(it, d)
	it.attempt++
	it.due, it.last = d.Due, d.Due.Sub(x.time())
	x.put(it, d.Tier)
	x.free(it, none)
	x.gate(it, gates.Outcome{Retry: retry, Transient: true})
}

// whyPaused returns why a failure pauses the pipeline.
func whyPaused(sys System, f classify.Failure) string {
	if sys.Holds(f, "") {
		return "one failure with this code is enough (pipeline.tolerance)"
	}
	return "the attempts of a record are used up, and its category pauses the pipeline then"
}

// reason returns the engine's reason for its decision about a failed attempt; it draws no random numbers.
func (x *simulation) reason(it *item, f classify.Failure) policy.Reason {
	return x.w.sys.Decide(policy.Tried{Attempts: it.attempt, LastDelay: it.last}, f, x.time(), func() float64 { return 0 }).Reason
}

// finish closes a record.
func (x *simulation) finish(it *item, d policy.Decision) {
	x.left--
	x.rec.last = x.now
	x.release(it, d)
	x.free(it, none)
}

// counted records an attempt that was made and not deferred: its record has left its tier.
func (x *simulation) counted(it *item) {
	if it.tier != source {
		x.rec.wait(x.now, it.tier, -1)
		x.rec.late(it.begun - it.due.Sub(start()))
	}
}

// gate counts an attempt, and pauses the pipeline if a tolerance is exceeded.
func (x *simulation) gate(it *item, o gates.Outcome) {
	if it.stale {
		return
	}
	for _, b := range it.home.gates.Ended(x.time(), "", o) {
		x.pause(string(b.Code), b.String())
		return
	}
}

// stand pauses the pipeline, in all its instances, until the scenario's operator resumes it.
func (x *simulation) pause(code, why string) {
	if x.paused {
		return
	}
	x.paused = true
	x.rec.stood(x.now, code, why)
	if again := x.w.ResumeAfter.Std(); again > 0 {
		x.after(again, nil, func(*item) { x.resume() })
	}
}

func (x *simulation) resume() {
	x.paused = false
	x.rec.released(x.now, true, float64(x.queued))
	for _, in := range x.instances {
		in.gates.Reset()
	}
	for _, in := range x.instances {
		x.dispatch(in)
	}
}

// putBack makes a record whose attempt does not count runnable again, before all others.
func (x *simulation) putBack(it *item) {
	to := &it.home.runnable
	if it.tier != source {
		to = &it.home.due
	}
	to.pushFront(it)
	x.count(it, 1)
	x.free(it, none)
}
