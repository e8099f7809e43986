package simulate

import (
	"github.com/switchback-geo/switchback/internal/gates"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

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

// fail lets the engine decide about a failed attempt. While the pipeline is paused the attempt does not count, and the
// record is put back.
func (x *simulation) fail(it *item, r int) {
	f := x.w.replies[r].failure
	if x.w.sys.Holds(f, x.reason(it, f)) {
		x.stand(string(f.Code), whyHeld(x.w.sys, f))
	}
	if x.standing {
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

// whyHeld returns why a failure pauses the pipeline.
func whyHeld(sys System, f classify.Failure) string {
	if sys.Holds(f, "") {
		return "one failure with this code is enough (pipeline.tolerance)"
	}
	return "the attempts of a record are used up, and failures of its category hold the pipeline then"
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

// counted records an attempt that was made and not held: its record has left its tier.
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
		x.stand(string(b.Code), b.String())
		return
	}
}

// stand pauses the pipeline, in all its instances, until the scenario's person resumes it.
func (x *simulation) stand(code, why string) {
	if x.standing {
		return
	}
	x.standing = true
	x.rec.stood(x.now, code, why)
	if again := x.w.ResumeAfter.Std(); again > 0 {
		x.after(again, nil, func(*item) { x.resume() })
	}
}

func (x *simulation) resume() {
	x.standing = false
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
