package retrytopics

import (
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
)

// UnavailableError is a handler's error for a dependency that is known to be down, because its circuit breaker is open.
// It is not the record's failure: it spends no attempt and never leads to the DLQ. The engine keeps all records with
// this error in memory. At RetryAt one of them probes, and the others follow once it got through. Meanwhile the instance
// fetches no more from Kafka than it can hold. A record that fails although others got through while it waited has
// failed by itself: that counts as an attempt (see Asked and docs/decisions/0006).
type UnavailableError struct {
	Dependency string    // what is down; records are held and probed per dependency
	RetryAt    time.Time // when one record may probe
	Err        error     // optional cause
	Asked      bool      // the dependency was asked for this very record, and Err is its answer
}

// Error names the dependency and the time of the next probe.
func (e *UnavailableError) Error() string {
	text := fmt.Sprintf("%s is held back: nothing is tried until %s", e.Dependency, header.FormatTime(e.RetryAt))
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// outage returns what the scheduler needs to know.
func (e *UnavailableError) outage() schedule.Outage {
	return schedule.Outage{Dependency: e.Dependency, RetryAt: e.RetryAt, Asked: e.Asked}
}
