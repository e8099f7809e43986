package simulate

import (
	"time"

	"github.com/switchback-geo/switchback/internal/config"
)

// circuit is the model of one step's circuit breaker in one instance. The real one keeps the wall clock, which cannot be
// wound; a test holds this one to it, answer by answer.
type circuit struct {
	rule      *config.Breaker // nil lets everything pass
	failures  []time.Duration // within the window, while closed
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
	switch {
	case down && c.open:
		c.trip(now)
	case down:
		for len(c.failures) > 0 && c.forgotten(c.failures[0], now) {
			c.failures = c.failures[1:]
		}
		if c.failures = append(c.failures, now); len(c.failures) >= c.rule.Failures {
			c.trip(now)
		}
	case c.open:
		if c.successes++; c.successes >= c.rule.Successes {
			c.open, c.successes, c.failures = false, 0, nil
		}
	}
}

// windowParts is the number of parts of a breaker's window; it slides in steps of one, as in the library.
const windowParts = 10

// forgotten says whether a failure does not count any more.
func (c *circuit) forgotten(then, now time.Duration) bool {
	part := max(c.rule.Window.Std()/windowParts, 1)
	return now/part-then/part >= windowParts
}

func (c *circuit) trip(now time.Duration) {
	c.open, c.until, c.successes, c.failures = true, now+c.rule.Cooldown.Std(), 0, nil
	c.opened++
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
