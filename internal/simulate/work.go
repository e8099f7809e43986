package simulate

import (
	"fmt"
	"time"
)

// Bounds of the work of a simulation. They count what is done and not the time that it takes, so that the same scenario has the
// same outcome on every machine.
const (
	// ExactRecords is up to how many records ModelAuto plays each of them.
	ExactRecords = 300_000
	// ExactInstances is up to how many instances ModelAuto plays each of them.
	ExactInstances = 1000

	mostExactRecords   = 2_000_000   // each of them is kept in memory while it waits
	mostExactInstances = 10_000      // each of them has breakers and gates of its own
	mostEvents         = 30_000_000  // and attempts
	mostEventsOfAuto   = 2_500_000   // then ModelAuto goes over to the fluid model
	mostWork           = 200_000_000 // of the fluid model: roughly, numbers that are touched
	mostParkings       = 2_000_000   // that are looked at for one decision
	mostPoints         = 4096        // of the series; then two become one
	mostDueLater       = 8_000_000   // numbers that are kept for what becomes due, each of eight bytes
)

// TooMuchError says that a simulation would take too long or too much memory, and what to change.
type TooMuchError struct{ What, Fix string }

// Error gives both.
func (e *TooMuchError) Error() string { return "the simulation is too large: " + e.What + "; " + e.Fix }

// tooLarge says what no exact model is made for; nil when there is nothing of it.
func (w *world) tooLarge() error {
	records := w.Rate * w.Duration.Std().Seconds()
	switch {
	case records > mostExactRecords:
		return &TooMuchError{fmt.Sprintf("the exact model plays up to %d records, and %.4g are to come", mostExactRecords, records), "lower rate or duration, or write model: fluid"}
	case w.Instances > mostExactInstances:
		return &TooMuchError{fmt.Sprintf("the exact model plays up to %d instances, not %d", mostExactInstances, w.Instances), "lower instances, or write model: fluid"}
	default:
		return nil
	}
}

// tooManyEvents is for an exact model that has played so many.
func (w *world) tooManyEvents(n int, now time.Duration) error {
	return &TooMuchError{
		fmt.Sprintf("the exact model has played %d events and attempts and come to %v, while records come until %v and what waits then is drained", n, now.Round(time.Second), w.Duration),
		"lower rate, duration or instances, or write model: fluid",
	}
}

// tooMuchWork is for a fluid model that has come so far, and whose steps cannot be longer.
func (w *world) tooMuchWork(now, step time.Duration) error {
	return &TooMuchError{
		fmt.Sprintf("in steps of %v the fluid model has come to %v of %v", step, now.Round(time.Second), w.Duration),
		"lower duration, remove providers from the scenario, or simulate a policy with fewer attempts or a breaker with a longer cooldown",
	}
}

// tooManyParkings is for a wait that is far longer than the longest tier.
func (w *world) tooManyParkings(wait time.Duration) error {
	longest := w.sys.Tiers[len(w.sys.Tiers)-1]
	return &TooMuchError{
		fmt.Sprintf("a record that waits for %v is put back into %s (%v) again and again until then", wait, longest.Topic, longest.Delay),
		"add a longer tier to the policy, or lower its retry_after_limit; the consumer would do the same work",
	}
}
