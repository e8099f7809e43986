package simulate

import (
	"slices"

	"github.com/switchback-geo/switchback/internal/circuit"
)

// answers are the shares of the questions to a provider by what became of them; the rest of them got a good answer.
type answers struct {
	failed []fault
	held   float64
}

type fault struct {
	reply int
	share float64
}

func (a answers) good() float64 {
	left := 1 - a.held
	for _, f := range a.failed {
		left -= f.share
	}
	return max(0, left)
}

// send asks a provider so many questions.
func (f *fluid) send(p int, questions float64) (a answers) {
	if questions <= 0 {
		return a
	}
	defer func() { f.rec.requests[p].held += a.held * questions }()
	if f.lineHeld(p) {
		a.held = 1
		return a
	}
	allowed := f.lines[p].rate.take(f.now, questions)
	if !f.overflows(p) {
		allowed = questions // so many as capacity lets through
	}
	if a.failed = f.replies(p, allowed); allowed < questions {
		for i := range a.failed {
			a.failed[i].share *= allowed / questions
		}
		a.held = 1 - allowed/questions
	}
	if allowed > 0 {
		unsent := f.pause(p, questions, &a)
		f.rec.request(f.now, p, allowed-unsent)
		f.trip(p, allowed/float64(f.w.Instances), questions/allowed, &a)
	}
	return a
}

// replies gives the shares of the requests that fail, in the order in which a request meets the reasons.
func (f *fluid) replies(p int, requests float64) (out []fault) {
	service, left := &f.w.providers[p], 1.0
	add := func(reply int, share float64) {
		if share > 0 {
			out = append(out, fault{reply, left * share})
			left *= 1 - share
		}
	}
	for _, o := range service.outages {
		if o.at(f.now) {
			add(o.reply, o.share)
		}
	}
	if service.limit != nil && left > 0 {
		if asked := requests * left; asked > 0 {
			passed := f.lines[p].limit.take(f.now, asked)
			f.rec.requests[p].refused += asked - passed
			add(service.limited, 1-passed/asked)
		}
	}
	add(service.errors.reply, service.errors.share)
	return out
}

// pause lets a Retry-After hold every further request. Of those under way when the first answer asks for it, one an instance spends
// an attempt; what would have been sent after it is not. It gives the amount of those.
func (f *fluid) pause(p int, questions float64, a *answers) (unsent float64) {
	for i := range a.failed {
		fault := &a.failed[i]
		wait := f.w.replies[fault.reply].pause
		if wait == 0 || fault.share == 0 {
			continue
		}
		failed := fault.share * questions
		spent := min(failed, float64(f.w.Instances))
		underWay := min(failed, max(spent, questions*min(1, f.w.replies[fault.reply].latency.Seconds()/f.step.Seconds())))
		unsent += failed - underWay
		if fault.reply == f.w.providers[p].limited {
			f.rec.requests[p].refused -= failed - underWay
		}
		a.held += (failed - spent) / questions
		fault.share = spent / questions
		f.lines[p].paused = max(f.lines[p].paused, f.now+wait)
	}
	return unsent
}

// trip counts the failures for the breakers. Those that come when a breaker is open are held.
func (f *fluid) trip(p int, requests, scale float64, a *answers) {
	down := 0.0
	for _, fault := range a.failed {
		if f.w.replies[fault.reply].end == circuit.Failed {
			down += fault.share * scale
		}
	}
	f.work += 8 * int(f.lines[p].fleet.drawn(requests))
	spent := f.lines[p].fleet.asked(f.now, requests, min(down, 1), f.random)
	if spent == 1 {
		return
	}
	for i := range a.failed {
		if fault := &a.failed[i]; f.w.replies[fault.reply].end == circuit.Failed {
			a.held += fault.share * (1 - spent)
			fault.share *= spent
		}
	}
}

// overflows says whether a question may be one too many for the client's own rate: requests wait for their place as long as they
// may take themselves, and so many together fit into fewer connections than there are. What waits for a connection waits without an end.
func (f *fluid) overflows(p int) bool {
	v := &f.w.providers[p]
	if v.Rate == nil {
		return false
	}
	atOnce := f.w.sys.Concurrency
	if v.Connections > 0 {
		atOnce = min(atOnce, v.Connections)
	}
	return len(f.w.steps[v.step]) > 1 && float64(atOnce) > v.Rate.PerSecond*v.Timeout.Seconds()+float64(v.Rate.Burst)
}

// lineHeld says whether a provider may not be asked now.
func (f *fluid) lineHeld(p int) bool {
	l := &f.lines[p]
	return l.fleet != nil && l.fleet.IsOpen() || f.now < l.paused
}

// nobody says whether none of the providers of a step may be asked now.
func (f *fluid) nobody(step int) bool {
	return !slices.ContainsFunc(f.w.steps[step], func(p int) bool { return !f.lineHeld(p) })
}

// blocked lets the open breakers probe and says whether nothing may be begun in this step of time.
func (f *fluid) blocked() bool {
	for p := range f.lines {
		if c := f.lines[p].fleet; c != nil && c.IsOpen() {
			f.rec.requests[p].open += f.step
			f.probe(p, c)
		}
	}
	for s := range f.w.steps {
		if f.nobody(s) && !f.w.cached(s) {
			return true
		}
	}
	return false
}

// probe sends the probes of a step: one at a time in each instance, as long as there is a record to do it with.
func (f *fluid) probe(p int, c *fleet) {
	end := f.now + f.step
	for at := max(f.now, c.Until()); c.IsOpen() && at < end && f.inHand() > 0; {
		if !c.probing {
			latency, said := f.drawReply(p)
			c.probing, c.end, c.ends, c.pass = true, said, at+latency, c.Enter()
			f.rec.request(f.now, p, float64(f.w.Instances))
		}
		if c.ends >= end {
			return
		}
		f.work += 8
		c.probing = false
		c.Leave(c.ends, c.pass, c.end)
		at = max(c.ends, c.Until()) // the next cooldown, when the probe failed
	}
}
