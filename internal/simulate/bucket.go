package simulate

import "time"

// bucket is a provider's rate limit.
type bucket struct {
	limit  *RateLimit // nil lets everything pass
	tokens float64
	filled time.Duration
}

// newBucket gives a full bucket.
func newBucket(limit *RateLimit) bucket {
	b := bucket{limit: limit}
	if limit != nil {
		b.tokens = limit.burst()
	}
	return b
}

// take reports whether one request passes now.
func (b *bucket) take(now time.Duration) bool {
	if b.limit == nil {
		return true
	}
	b.tokens = min(b.limit.burst(), b.tokens+(now-b.filled).Seconds()*b.limit.PerSecond)
	b.filled = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
