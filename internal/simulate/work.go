package simulate

import (
	"fmt"
	"time"
)

// Bounds of the work of a simulation. They count work and not time, so that a scenario has the same result on every
// machine.
const (
	mostRecords = 2_000_000  // each is in memory while it waits
	mostEvents  = 30_000_000 // and attempts
	mostPoints  = 4096       // of the series; then two become one
)

// TooMuchError means that a simulation would take too long or too much memory, and says what to change.
type TooMuchError struct{ What, Fix string }

// Error gives both.
func (e *TooMuchError) Error() string { return "the simulation is too large: " + e.What + "; " + e.Fix }

// tooLarge returns what is too much before anything is played, or nil.
func (w *world) tooLarge() error {
	records := w.Rate * w.Duration.Std().Seconds()
	if records > mostRecords {
		return &TooMuchError{
			fmt.Sprintf("up to %d records are played, and %.4g are to come", mostRecords, records),
			"lower duration, or simulate one instance with its share of rate and of the provider's limit",
		}
	}
	return nil
}

// tooManyEvents returns the error of a run that has played so many events.
func tooManyEvents(w *world, n int, now time.Duration) error {
	return &TooMuchError{
		fmt.Sprintf("%d events and attempts have been played up to %v, while records come until %v and what waits then is drained", n, now.Round(time.Second), w.Duration),
		"lower rate, duration or instances",
	}
}
