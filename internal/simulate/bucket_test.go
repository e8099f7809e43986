package simulate

import (
	"testing"
	"time"
)

func TestBucket_letsThroughItsRateAndItsBurst(t *testing.T) {
	t.Parallel()
	b := newBucket(&RateLimit{PerSecond: 10, Burst: 5}, 0)
	for _, c := range []struct {
		at    time.Duration
		asked float64
		want  float64
	}{{0, 8, 5}, {0, 1, 0}, {100 * time.Millisecond, 3, 1}, {time.Hour, 100, 5}, {time.Hour + time.Second/2, 4, 4}} {
		if got := b.take(c.at, c.asked); got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("%v: %v of %v got through, want %v", c.at, got, c.asked, c.want)
		}
	}
	free := newBucket(nil, 0)
	if free.take(0, 1e9) != 1e9 || !free.takeOne(0) {
		t.Error("no limit must limit nothing")
	}
}
