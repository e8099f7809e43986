package simulate

import "time"

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
