package simulate

import (
	"math"
	"time"
)

// bucket is a rate limit.
type bucket struct {
	limit  *RateLimit // nil lets everything pass
	size   float64
	tokens float64
	filled time.Duration
}

// newBucket gives a full bucket, for a model that takes from it in steps of time: it holds what comes in one, at the least.
func newBucket(limit *RateLimit, step time.Duration) bucket {
	b := bucket{limit: limit}
	if limit != nil {
		b.size = max(limit.burst(), limit.PerSecond*step.Seconds())
		b.tokens = b.size
	}
	return b
}

// available is how many requests would pass now.
func (b *bucket) available(now time.Duration) float64 {
	if b.limit == nil {
		return math.Inf(1)
	}
	b.tokens = min(b.size, b.tokens+(now-b.filled).Seconds()*b.limit.PerSecond)
	b.filled = now
	return b.tokens
}

// take takes up to n requests and gives how many pass.
func (b *bucket) take(now time.Duration, n float64) float64 {
	passed := min(n, b.available(now))
	if b.limit != nil {
		b.tokens -= passed
	}
	return passed
}

// takeOne takes one request, whole or not at all.
func (b *bucket) takeOne(now time.Duration) bool {
	return b.available(now) >= 1 && b.take(now, 1) == 1
}
