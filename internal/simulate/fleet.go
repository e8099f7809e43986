package simulate

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/switchback-geo/switchback/internal/circuit"
	"github.com/switchback-geo/switchback/internal/config"
)

// fleet is one provider's circuit breakers, all instances alike. How many failures one of them sees in a step is drawn, so
// that a breaker that is rarely opened by chance is opened rarely, and not never.
type fleet struct {
	*circuit.Breaker

	probing bool
	end     circuit.End   // what the probe will find that is under way
	ends    time.Duration // when it will
	pass    circuit.Pass
}

// newFleet gives nil when there is no breaker.
func newFleet(rule *config.Breaker) *fleet {
	if rule == nil {
		return nil
	}
	return &fleet{Breaker: circuit.New(*rule)}
}

// mostOneByOne bounds how many requests of one instance and step are drawn each for itself.
const mostOneByOne = 256

// drawn gives how many requests of a step are drawn each for itself: not those of a rule that looks at all of its window, nor
// many times as many as it looks at.
func (c *fleet) drawn(requests float64) float64 {
	if c == nil || c.IsOpen() || c.Rule().Among == 0 || requests > min(mostOneByOne, max(64, 4*float64(c.Rule().Among))) {
		return 0
	}
	return requests
}

// asked takes how many requests one instance sends in this step, and the share of them that fails, and gives the share of
// the failures that spends an attempt: all of them, unless they open the breaker.
func (c *fleet) asked(now time.Duration, requests, share float64, random *rand.Rand) (spent float64) {
	switch {
	case c == nil || requests == 0 || c.IsOpen():
		return 1
	case c.Rule().Among == 0:
		return c.byWindow(now, requests, share, random)
	case c.drawn(requests) > 0:
		return c.byRequest(now, requests, share, random)
	default:
		return c.byChance(now, requests, share, random)
	}
}

// byWindow is for a rule that looks at all requests of its window.
func (c *fleet) byWindow(now time.Duration, requests, share float64, random *rand.Rand) (spent float64) {
	of, before := c.Counted(now)
	drawn := poisson(requests*share, random)
	if c.Count(now, requests, drawn); drawn == 0 || !c.Exceeded(now) {
		return 1
	}
	rule := c.Rule()
	room := math.Max(float64(rule.Failures), rule.FailureRate*of) - 1 - before // the failure that opens it is a hold, too
	c.Trip(now)
	return min(1, max(0, room/drawn))
}

// byRequest sends each request by itself.
func (c *fleet) byRequest(now time.Duration, requests, share float64, random *rand.Rand) (spent float64) {
	n := math.Floor(requests)
	if random.Float64() < requests-n {
		n++
	}
	failures := 0.0
	for range int(n) {
		end := circuit.Answered
		if random.Float64() < share {
			end = circuit.Failed
			failures++
		}
		if c.Leave(now, c.Enter(), end); c.IsOpen() {
			return min(1, (failures-1)/max(failures, n*share))
		}
	}
	return 1
}

// byChance draws after how many requests enough of the latest ones have failed, from the chance that a request is the one that
// completes them. Of so many requests in a step, what was before it does not matter.
func (c *fleet) byChance(now time.Duration, requests, share float64, random *rand.Rand) (spent float64) {
	rule := c.Rule()
	least := rule.Opens()
	chance := share * atLeast(least-1, rule.Among-1, share)
	if chance <= 0 {
		return 1
	}
	at := float64(least-1) + random.ExpFloat64()/chance
	if at > requests {
		return 1
	}
	c.Trip(now)
	return at / requests
}

// atLeast is the chance that at least k of n independent requests fail.
func atLeast(k, n int, share float64) float64 {
	if share >= 1 {
		return 1
	}
	sum, term := 0.0, math.Pow(1-share, float64(n)) // of exactly i
	for i := range n + 1 {
		if i >= k {
			sum += term
		}
		term *= float64(n-i) / float64(i+1) * share / (1 - share)
	}
	return min(1, sum)
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

// drawReply draws what a provider answers to a probe.
func (f *fluid) drawReply(p int) (latency time.Duration, end circuit.End) {
	service := &f.w.providers[p]
	hit := func(reply int) (time.Duration, circuit.End) {
		return f.w.replies[reply].latency, f.w.replies[reply].end
	}
	for _, o := range service.outages {
		if o.at(f.now) && f.random.Float64() < o.share {
			return hit(o.reply)
		}
	}
	if f.random.Float64() < service.errors.share {
		return hit(service.errors.reply)
	}
	return service.latency, circuit.Answered
}
