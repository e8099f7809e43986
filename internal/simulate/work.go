package simulate

import (
	"fmt"
	"time"
)

// Bounds of the work of a simulation. They count what is done and not the time that it takes, so that the same scenario has the
// same outcome on every machine.
const (
	mostRecords = 2_000_000  // each of them is kept in memory while it waits
	mostEvents  = 30_000_000 // and attempts
	mostPoints  = 4096       // of the series; then two become one
)

// TooMuchError says that a simulation would take too long or too much memory, and what to change.
type TooMuchError struct{ What, Fix string }

// Error gives both.
func (e *TooMuchError) Error() string { return "the simulation is too large: " + e.What + "; " + e.Fix }

// tooLarge says what is too much before anything is played; nil when there is nothing of it.
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

// tooManyEvents is for a run that has played so many.
func tooManyEvents(w *world, n int, now time.Duration) error {
	return &TooMuchError{
		fmt.Sprintf("%d events and attempts have been played up to %v, while records come until %v and what waits then is drained", n, now.Round(time.Second), w.Duration),
		"lower rate, duration or instances",
	}
}
