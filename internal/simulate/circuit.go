package simulate

import (
	"math"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
)

// circuit is the model of one step's circuit breaker in one instance. The real one keeps the wall clock, which cannot be
// wound; a test holds this one to it, answer by answer.
type circuit struct {
	rule      *config.Breaker // nil lets everything pass
	window    window10        // what has come of the requests lately, while closed
	until     time.Duration   // nothing passes before it, while open
	open      bool            // also while it probes
	probing   bool
	successes int // of probes, one after another
	opened    int // how often
}

// probePoll is how long a record is held that comes while another one probes, as in the remote steps.
const probePoll = 100 * time.Millisecond

// held says whether nothing may be sent now, and until when.
func (c *circuit) held(now time.Duration) (until time.Duration, held bool) {
	switch {
	case c.rule == nil || !c.open:
		return 0, false
	case now < c.until:
		return c.until, true
	case c.probing:
		return now + probePoll, true
	default:
		return 0, false
	}
}

// enter begins a request that held allows, and gives what leave wants to know.
func (c *circuit) enter() (opened int, probe bool) {
	c.probing = c.open
	return c.opened, c.open
}

// leave ends a request. It says whether its failure is a hold: it is known that the service is down.
func (c *circuit) leave(now time.Duration, opened int, probe, down bool) (hold bool) {
	if c.rule == nil {
		return false
	}
	if probe {
		c.probing = false
	}
	if opened == c.opened {
		c.record(now, down)
	}
	return down && opened != c.opened
}

func (c *circuit) record(now time.Duration, down bool) {
	if c.open {
		switch {
		case down:
			c.trip(now)
		case c.successes+1 >= c.rule.Successes:
			c.open, c.successes, c.window = false, 0, window10{}
		default:
			c.successes++
		}
		return
	}
	failed := 0.0
	if down {
		failed = 1
	}
	c.count(now, 1, failed)
	if c.exceeded() {
		c.trip(now)
	}
}

// count notes requests that have ended and how many of them failed.
func (c *circuit) count(now time.Duration, requests, failures float64) {
	c.window.add(int64(now/max(c.rule.Window.Std()/windowParts, 1)), requests, failures)
}

// exceeded says whether the breaker opens: by the number of failures in the window, or by their share when the rule has one.
func (c *circuit) exceeded() bool {
	requests, failures := c.window.sum()
	if c.rule.FailureRate == 0 {
		return failures >= float64(c.rule.Failures)
	}
	// The library rounds the share to percents.
	return requests >= float64(c.rule.MinRequests) && math.Round(failures/requests*100)/100 >= c.rule.FailureRate
}

func (c *circuit) trip(now time.Duration) {
	c.open, c.until, c.successes, c.window = true, now+c.rule.Cooldown.Std(), 0, window10{}
	c.opened++
}

// windowParts is the number of parts of a breaker's window; it slides in steps of one, as in the library.
const windowParts = 10

// window10 counts requests and failures in the parts of a window.
type window10 struct {
	latest             int64 // number of the part that is counted in
	requests, failures [windowParts]float64
}

// add counts in a part, and forgets those that are out of the window by then.
func (w *window10) add(part int64, requests, failures float64) {
	for n := min(part-w.latest, windowParts); n > 0; n-- {
		slot := (part - n + 1) % windowParts
		w.requests[slot], w.failures[slot] = 0, 0
	}
	w.latest = max(w.latest, part)
	w.requests[w.latest%windowParts] += requests
	w.failures[w.latest%windowParts] += failures
}

func (w *window10) sum() (requests, failures float64) {
	for i := range windowParts {
		requests, failures = requests+w.requests[i], failures+w.failures[i]
	}
	return requests, failures
}

// bucket is a provider's rate limit.
type bucket struct {
	limit  *RateLimit // nil lets everything pass
	tokens float64
	filled time.Duration
}

func newBucket(limit *RateLimit) bucket {
	b := bucket{limit: limit}
	if limit != nil {
		b.tokens = limit.burst()
	}
	return b
}

// take takes up to n requests and gives how many pass.
func (b *bucket) take(now time.Duration, n float64) float64 {
	if b.limit == nil {
		return n
	}
	b.tokens = min(b.limit.burst(), b.tokens+(now-b.filled).Seconds()*b.limit.PerSecond)
	b.filled = now
	passed := min(n, b.tokens)
	b.tokens -= passed
	return passed
}

// takeOne takes one request, whole or not at all.
func (b *bucket) takeOne(now time.Duration) bool {
	if b.take(now, 0); b.limit != nil && b.tokens < 1 {
		return false
	}
	return b.take(now, 1) == 1
}
