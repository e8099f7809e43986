package simulate

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// arrive takes the next record from the source and schedules the following arrival. The times between arrivals are
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
	made := &item{number: x.arrivals, key: none, bad: x.random.Float64() < x.w.BadRecords, attempt: 1, tier: source}
	owner := x.arrivals
	if x.w.keyed() {
		made.key = x.random.IntN(x.w.Keys)
		owner = made.key // one instance owns all records of a key
	}
	made.home = x.instances[owner%len(x.instances)]
	x.arrivals++
	x.after(next, made, x.arrive)
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
		return // its caller is inside the loop below, which goes on
	}
	in.dispatching = true
	defer func() { in.dispatching = false }()
	for !x.standing && in.running < x.w.sys.Concurrency && in.runnable.len()+in.due.len() > 0 {
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

// begin makes an attempt. Nothing is asked while no provider of some step may be asked.
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
		if until, held := x.stepHeld(it.home, s); held {
			x.hold(it, s, until)
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

// surface takes a record from its tier: it is due, or is parked again.
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
