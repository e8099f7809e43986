package retrytopics

import (
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Retry marks a handler's error as transient, whatever its type. The record is attempted again after the delay of its
// policy, until its attempts are used up. errors.Is and errors.As see through the mark; the outermost of several
// marks counts. A nil error stays nil.
func Retry(err error) error { return classify.WithClass(classify.RetryBackoff, err) }

// RetryAfter marks a handler's error as transient and sets the earliest time of the next attempt: d after the end of
// this attempt. A d beyond the longest retry topic is waited for in several rounds through it. Neither these nor
// Policy.RetryAfterLimit shorten d. The attempt counts like any other. A d of 0 or less is the same as Retry. A nil
// error stays nil.
func RetryAfter(d time.Duration, err error) error { return classify.WithRetryAfter(d, err) }

// Reject marks a handler's error as permanent, whatever its type: the record becomes a dead letter at once. errors.Is
// and errors.As see through the mark. A nil error stays nil.
func Reject(err error) error { return classify.WithClass(classify.Permanent, err) }

// UnavailableError is a handler's error for a dependency that is known to be down, because its circuit breaker is
// open. It is not the record's failure: it spends no attempt and never leads to the DLQ. The engine keeps all records
// with this error in memory. At RetryAt one of them probes, and the others follow once it got through. Meanwhile the
// instance fetches no more from Kafka than it can hold. A record that fails although others succeeded while it waited
// has failed on its own: that counts as an attempt (see Asked and docs/decisions/0006).
type UnavailableError struct {
	Dependency string    // what is down; records are deferred and probed per dependency
	RetryAt    time.Time // when one record may probe
	Err        error     // optional cause
	Asked      bool      // the dependency was asked for this very record, and Err is its answer
}

// Error names the dependency and the time of the next probe.
func (e *UnavailableError) Error() string {
	text := fmt.Sprintf("%s is unavailable: nothing is tried until %s", e.Dependency, header.FormatTime(e.RetryAt))
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }
