package ramp

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Ramp describes the waves of a replay. The canary comes first, and each next wave is Factor times larger, as long as
// no more than MaxFailed of a wave failed again. The zero Ramp is one wave without a gate.
type Ramp struct {
	Canary    int     // dead letters in the first wave; 0 sends all at once
	Factor    float64 // size of each next wave relative to the one before; 0 sends the rest after the canary
	MaxFailed float64 // share of a wave that may fail again, 0 to 1
	Gated     bool    // MaxFailed applies; a canary is always gated
}

// ErrRamp marks an invalid ramp. Match it with errors.Is.
var ErrRamp = errors.New("ramp")

// Check returns an error if the ramp is invalid.
func (r Ramp) Check() error {
	switch {
	case r.Canary < 0:
		return fmt.Errorf("%w: a canary of %d dead letters; use a number from 0", ErrRamp, r.Canary)
	case r.Factor != 0 && !(r.Factor >= 1 && r.Factor <= 1e6):
		return fmt.Errorf("%w: factor %v; use 1 to 1000000", ErrRamp, r.Factor)
	case r.Factor != 0 && r.Canary == 0:
		return fmt.Errorf("%w: a factor needs a canary to start from", ErrRamp)
	case !(r.MaxFailed >= 0 && r.MaxFailed <= 1):
		return fmt.Errorf("%w: at most %v may fail; use a share from 0 to 1", ErrRamp, r.MaxFailed)
	}
	return nil
}

// Gates reports whether the outcome of each wave is judged.
func (r Ramp) Gates() bool { return r.Gated || r.Canary > 0 }

// Wave returns the size of the wave after one of the given size, or of the first wave for 0. ok is false if all
// remaining dead letters form one wave.
func (r Ramp) Wave(before int) (size int, ok bool) {
	switch {
	case r.Canary == 0:
		return 0, false
	case before == 0:
		return r.Canary, true
	case r.Factor == 0:
		return 0, false
	}
	return int(min(float64(before)*r.Factor, 1e9)), true
}

// Gate is the verdict on a wave. It is a closed list.
type Gate string

// The gates.
const (
	Wait Gate = "wait" // the consumer has not finished enough of the wave
	Go   Gate = "go"   // the wave is over and the next may start
	Stop Gate = "stop" // too many failed again
)

// Judge judges a wave of size dead letters, of which finished are finished and failed failed again. It stops as soon
// as the failures exceed the limit, whatever happens to the rest.
func (r Ramp) Judge(size, finished, failed int) Gate {
	switch {
	case float64(failed) > r.MaxFailed*float64(size):
		return Stop
	case finished >= size:
		return Go
	}
	return Wait
}

// ParseShare parses "2%" or "0.02".
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("%w: %q is not a share; use 2%% or 0.02", ErrRamp, text)
	}
	return share, nil
}

// ParseFactor parses "10x" or "10".
func ParseFactor(text string) (float64, error) {
	factor, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), "x"), 64)
	if err != nil || !(factor >= 1 && factor <= 1e6) {
		return 0, fmt.Errorf("%w: %q is not a factor; use 10x (1x to 1000000x)", ErrRamp, text)
	}
	return factor, nil
}

// Pace keeps a rate. The zero Pace has no limit.
type Pace struct {
	rate float64 // dead letters a second
	free time.Time
}

// NewPace returns a Pace of rate dead letters a second; 0 is no limit.
func NewPace(rate float64) Pace { return Pace{rate: rate} }

// Batch returns how many dead letters to send together, at most limit. It returns those of a quarter of a second, so
// that the rate is smooth without small batches.
func (p *Pace) Batch(limit int) int {
	if p.rate <= 0 {
		return limit
	}
	return min(limit, max(1, int(math.Ceil(p.rate/4))))
}

// Wait returns how long to wait before n more dead letters are sent. Unused time is not saved up.
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

// ParseRate parses "500/s", "30/m" or "500" (per second) into dead letters a second.
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
		return 0, fmt.Errorf("%w: %q is not a rate; use 500/s, 30/m or 600/h", ErrRamp, text)
	}
	return rate, nil
}
