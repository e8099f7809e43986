package simulate

import (
	"math"
	"math/rand/v2"
	"time"
)

// fleet is one step's circuit breakers, all instances alike. How many failures one of them sees in a step is drawn, so
// that a breaker that is rarely opened by chance is opened rarely, and not never.
type fleet struct {
	circuit

	failing bool          // what the probe will find that is under way
	ends    time.Duration // when it will
}

// began notes the requests that one instance sends in this step.
func (c *fleet) began(now time.Duration, requests float64) {
	if c.rule != nil && !c.open {
		c.count(now, requests, 0)
	}
}

// failed takes the mean number of failures that one instance sees in this step and gives the share of them that spends an
// attempt: all of them, unless they open the breaker.
func (c *fleet) failed(now time.Duration, mean float64, random *rand.Rand) (spent float64) {
	if c.rule == nil || mean == 0 || c.open {
		return 1
	}
	drawn := poisson(mean, random)
	if drawn == 0 {
		return 1
	}
	requests, before := c.window.sum()
	c.count(now, 0, drawn)
	if !c.exceeded() {
		return 1
	}
	room := float64(c.rule.Failures) - 1 - before // the failure that opens it is a hold, too
	if c.rule.FailureRate > 0 {
		room = c.rule.FailureRate*math.Max(requests, float64(c.rule.MinRequests)) - before
	}
	c.trip(now)
	return min(1, max(0, room/drawn))
}

// poisson draws from a Poisson distribution; beyond a mean of 30 from the normal one that it is close to.
func poisson(mean float64, random *rand.Rand) float64 {
	if mean > 30 {
		return max(0, math.Round(mean+math.Sqrt(mean)*random.NormFloat64()))
	}
	limit, product, n := math.Exp(-mean), random.Float64(), 0.0
	for product > limit {
		product *= random.Float64()
		n++
	}
	return n
}

// blocked lets the open breakers probe and says whether nothing may be sent in this step.
func (f *fluid) blocked() bool {
	blocked := false
	for p := range f.circuits {
		if c := &f.circuits[p]; c.open {
			f.rec.requests[p].open += f.step
			f.probe(p, c)
			blocked = blocked || c.open
		}
	}
	return blocked
}

// probe sends the probes of a step: one at a time in each instance, as long as there is a record to do it with.
func (f *fluid) probe(p int, c *fleet) {
	end := f.now + f.step
	for at := max(f.now, c.until); c.open && at < end && f.backlog+f.readySum > 0; {
		if !c.probing {
			latency, down := f.drawReply(p)
			c.probing, c.failing, c.ends = true, down, at+latency
			f.rec.request(f.now, p, float64(f.w.Instances))
		}
		if c.ends >= end {
			return
		}
		at, c.probing = c.ends, false
		if c.record(at, c.failing); c.failing {
			return
		}
	}
}

// drawReply draws what a provider answers to a probe.
func (f *fluid) drawReply(p int) (latency time.Duration, down bool) {
	service := &f.w.providers[p]
	hit := func(reply int) (time.Duration, bool) { return f.w.replies[reply].latency, f.w.replies[reply].down }
	for _, o := range service.outages {
		if o.at(f.now) && f.random.Float64() < o.share {
			return hit(o.reply)
		}
	}
	if f.random.Float64() < service.errors.share {
		return hit(service.errors.reply)
	}
	return service.latency, false
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
