package deadletters

import "slices"

// Status is the state of the handling of one dead letter. It is a closed list (see [Statuses]).
type Status string

// The statuses.
const (
	Pending     Status = "pending"     // waits for a person or a replay
	Replaying   Status = "replaying"   // put back into the source topic; the consumer has not finished it
	Reprocessed Status = "reprocessed" // the consumer delivered it after a replay
	Discarded   Status = "discarded"   // given up with a reason; can be reopened
	Escalated   Status = "escalated"   // needs a person: it failed too often, or an operator decided so
	Duplicate   Status = "duplicate"   // closed: the same content is, or was, handled elsewhere
	Superseded  Status = "superseded"  // closed: a newer version of the feature took effect
)

// Statuses returns every status, the open ones first.
func Statuses() []Status {
	return []Status{Pending, Replaying, Escalated, Reprocessed, Discarded, Duplicate, Superseded}
}

// Resolved returns the statuses of dead letters for which nothing is left to do.
func Resolved() []Status { return []Status{Reprocessed, Discarded, Duplicate, Superseded} }

// Valid reports whether s is one of [Statuses].
func (s Status) Valid() bool { return slices.Contains(Statuses(), s) }

// Successors returns the statuses that may follow s; none for a closed dead letter.
func (s Status) Successors() []Status {
	switch s {
	case Pending:
		return []Status{Replaying, Discarded, Escalated, Duplicate, Superseded}
	case Replaying:
		return []Status{Reprocessed, Pending, Escalated, Duplicate, Superseded, Discarded}
	case Escalated:
		return []Status{Pending, Replaying, Discarded, Duplicate}
	case Discarded:
		return []Status{Pending, Escalated} // escalated if the discard of an escalated dead letter is undone
	case Superseded:
		return []Status{Pending}
	case Reprocessed, Duplicate:
		return nil
	default:
		return nil
	}
}

// CanBecome reports whether a dead letter may change from s to another status.
func (s Status) CanBecome(to Status) bool { return slices.Contains(s.Successors(), to) }

// HoldsContent reports whether content with this status has been put back: another dead letter with the same content
// hash must not be put back as well (C-4).
func (s Status) HoldsContent() bool { return s == Replaying || s == Reprocessed }
