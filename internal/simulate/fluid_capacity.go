package simulate

import "math"

// capacity is how many attempts the fleet can make in a step: by its slots, by the connections of each provider, and by the
// clients' own rates.
func (f *fluid) capacity() float64 {
	instances := float64(f.w.Instances)
	work, reached, most := 0.0, 1.0, math.Inf(1)
	for _, providers := range f.w.steps {
		asked, through := reached, 0.0 // of a record: the chance that it asks the next provider, and that one has answered
		for _, p := range providers {
			v := &f.w.providers[p]
			through += asked * v.hits
			asked *= 1 - v.hits
			if f.lineHeld(p) {
				continue
			}
			each, good := f.mean(v)
			work += asked * each
			if v.Connections > 0 && each > 0 && asked > 0 {
				most = min(most, instances*float64(v.Connections)*f.step.Seconds()/(asked*each))
			}
			if v.Rate != nil && !f.overflows(p) && asked > 0 {
				most = min(most, f.lines[p].rate.available(f.now)/asked)
			}
			through += asked * good
			asked *= 1 - good
		}
		reached = through
	}
	if work > 0 {
		most = min(most, instances*float64(f.w.sys.Concurrency)*f.step.Seconds()/work)
	}
	return most
}

// mean gives how many seconds a request to a provider takes on average now, and what share of them succeeds, its rate limit
// left out.
func (f *fluid) mean(p *provider) (seconds, good float64) {
	left := 1.0
	for _, o := range p.outages {
		if o.at(f.now) {
			seconds += left * o.share * f.w.replies[o.reply].latency.Seconds()
			left *= 1 - o.share
		}
	}
	if e := p.errors.share; e > 0 {
		seconds += left * e * f.w.replies[p.errors.reply].latency.Seconds()
		left *= 1 - e
	}
	return seconds + left*p.latency.Seconds(), left
}
