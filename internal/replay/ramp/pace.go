package ramp

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Pace keeps a rate. The zero Pace keeps none.
type Pace struct {
	rate float64 // letters a second
	free time.Time
}

// NewPace keeps so many letters a second; 0 is as fast as it goes.
func NewPace(rate float64) Pace { return Pace{rate: rate} }

// Batch is how many letters to send together, at most limit: a fourth of a second's worth, so that a rate is
// smooth without being slow.
func (p *Pace) Batch(limit int) int {
	if p.rate <= 0 {
		return limit
	}
	return min(limit, max(1, int(math.Ceil(p.rate/4))))
}

// Wait says how long to wait at now before n more letters are sent. What was not used before is not saved up.
func (p *Pace) Wait(now time.Time, n int) time.Duration {
	if p.rate <= 0 {
		return 0
	}
	if p.free.Before(now) {
		p.free = now
	}
	wait := p.free.Sub(now)
	p.free = p.free.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	return wait
}

// ParseRate reads "500/s", "30/m" or "500" (a second); the answer is letters a second.
func ParseRate(text string) (float64, error) {
	number, unit, _ := strings.Cut(strings.TrimSpace(text), "/")
	rate, err := strconv.ParseFloat(number, 64)
	switch unit {
	case "", "s":
	case "m":
		rate /= 60
	case "h":
		rate /= 3600
	default:
		err = strconv.ErrSyntax
	}
	if err != nil || !(rate > 0 && rate <= 1e9) {
		return 0, fmt.Errorf("%w: %q is no rate; use 500/s, 30/m or 600/h", ErrRamp, text)
	}
	return rate, nil
}
