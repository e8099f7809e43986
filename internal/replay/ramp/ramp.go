package ramp

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Ramp says in which waves letters go back: the canary first, each next wave Factor times larger, as long as
// no more than MaxFailed of a wave failed again. The zero Ramp is one wave without a gate.
type Ramp struct {
	Canary    int     // letters of the first wave; 0 sends all at once
	Factor    float64 // of each next wave to the one before; 0 sends the rest behind the canary
	MaxFailed float64 // share of a wave that may fail again, 0 to 1
	Gated     bool    // MaxFailed is looked at; a canary is always gated
}

// ErrRamp marks a ramp that cannot be used. Match it with errors.Is.
var ErrRamp = errors.New("ramp")

// Check says what of the ramp cannot be.
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

// Gates reports whether the outcome of a wave is looked at.
func (r Ramp) Gates() bool { return r.Gated || r.Canary > 0 }

// Wave is the size of the wave after one of the given size, 0 before the first. ok is false when all that is
// left goes in one wave.
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

// Gate is what a look at a wave says. It is a closed list (see [Gates]).
type Gate string

// The gates.
const (
	Wait Gate = "wait" // the consumer has not finished enough of the wave
	Go   Gate = "go"   // the wave is over, the next may start
	Stop Gate = "stop" // too many failed again
)

// Gates returns every gate.
func Gates() []Gate { return []Gate{Wait, Go, Stop} }

// Judge looks at a wave: of size letters, so many are finished, and of these so many failed again. It stops as
// soon as the limit is passed whatever the rest does.
func (r Ramp) Judge(size, finished, failed int) Gate {
	switch {
	case float64(failed) > r.MaxFailed*float64(size):
		return Stop
	case finished >= size:
		return Go
	}
	return Wait
}

// ParseShare reads "2%" or "0.02".
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("%w: %q is no share; use 2%% or 0.02", ErrRamp, text)
	}
	return share, nil
}

// ParseFactor reads "10x" or "10".
func ParseFactor(text string) (float64, error) {
	factor, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), "x"), 64)
	if err != nil || !(factor >= 1 && factor <= 1e6) {
		return 0, fmt.Errorf("%w: %q is no factor; use 10x (1x to 1000000x)", ErrRamp, text)
	}
	return factor, nil
}
