package demo

import "time"

// Pace is when events are produced: a first share of them in a burst, the rest evenly until the end.
type Pace struct {
	// Burst is how long the burst lasts, and Share which part of the events, from 0 to 1, it brings.
	Burst time.Duration
	Share float64
	// Spread is the time from the first event to the last. 0 produces all at once.
	Spread time.Duration
}

// at is when event i of n is due, from 0 to Spread, counted from the first.
func (p Pace) at(i, n int) time.Duration {
	if n <= 1 || i <= 0 {
		return 0
	}
	part := float64(i) / float64(n-1)
	if part < p.Share {
		return time.Duration(float64(p.Burst) * part / p.Share)
	}
	rest := (part - p.Share) / max(1-p.Share, 1e-9)
	return min(p.Burst+time.Duration(float64(p.Spread-p.Burst)*rest), p.Spread)
}
