package governance

import (
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Status is the governance status of one attempt, for telemetry (S3-7).
type Status string

// The statuses.
const (
	StatusUngoverned Status = "ungoverned" // no marks are read, or the record has none
	StatusAllowed    Status = "allowed"    // the record has marks, and no rule forbids them
	StatusEscalated  Status = "escalated"  // too many retries: the ledger has an entry; retries go on
	StatusDenied     Status = "denied"     // a rule forbids it
	StatusBlocked    Status = "blocked"    // a circuit breaker is open: nothing is tried (S3-5)
)

// Statuses lists every status.
func Statuses() []Status {
	return []Status{StatusUngoverned, StatusAllowed, StatusEscalated, StatusDenied, StatusBlocked}
}

// Status returns the status of an event.
func (l *Ledger) Status(e *retrytopics.Event) Status {
	switch reason, _ := l.Reason(e); {
	case reason == ReasonDenied:
		return StatusDenied
	case reason == ReasonRetries:
		return StatusEscalated
	case e.Identity.Marks == (retrytopics.Marks{}):
		return StatusUngoverned
	default:
		return StatusAllowed
	}
}
