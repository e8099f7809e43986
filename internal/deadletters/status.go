package deadletters

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

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

// Change is an intended change of a dead letter.
type Change struct {
	To       Status
	Reason   string
	By       string
	ReplayID string    // the replay that takes it; empty keeps the last one
	At       time.Time // rounded down to milliseconds
	// Operation is the operator's operation that makes the change, and that can be undone; "" for the consumer.
	Operation string
	// Destination is the topic outside the pipeline that the dead letter is sent to; "" if none.
	Destination string
}

// Next returns the state of a dead letter after a change; it is pure. The zero status counts as pending (a dead letter
// without a state record). Leaving replaying adds one to the reprocess count, whatever the outcome. The error names
// the allowed statuses.
func Next(prev State, c Change) (State, error) {
	if prev.Status == "" {
		prev.Status = Pending
	}
	if !prev.Status.CanBecome(c.To) {
		return State{}, fmt.Errorf("dead letter %s cannot go from %s to %s; allowed: %v", prev.ID, prev.Status, c.To, prev.Status.Successors())
	}
	next := prev
	if prev.Status == Replaying {
		next.ReprocessCount++
	}
	if c.ReplayID != "" {
		next.ReplayID = c.ReplayID
	}
	next.Status, next.Reason, next.By = c.To, c.Reason, c.By
	next.At = c.At.UTC().Truncate(time.Millisecond)
	next.Operation, next.Before, next.Destination = c.Operation, "", c.Destination
	if c.Operation != "" {
		next.Before = prev.Status
	}
	return next, nil
}

// IsReplay reports whether a record is a replayed dead letter: whoever finishes it must write the dead letter's new
// state (see [Closing]).
func IsReplay(c header.Control) bool { return c.ReplayID != "" && c.DeadLetterID != "" }

// Closing returns the state of a dead letter whose replay the consumer has just finished. It is built from the record's
// own key and control headers, so the consumer needs no index: a record with a replay ID is replaying, and its replay
// count is the number of replays. The new status is reprocessed, duplicate, superseded, discarded (filtered or skipped),
// pending (it failed again), or escalated (it failed again too often). The state has no DLQ position, because the
// consumer does not know it; readers take it from the DLQ.
func Closing(key []byte, c header.Control, change Change) (State, error) {
	if !IsReplay(c) {
		return State{}, errors.New("the record is not a replayed dead letter: it has no replay id or no dead letter id")
	}
	prev := State{
		ID: c.DeadLetterID, Status: Replaying, KeyHash: idempotency.HashKey(key), ContentHash: c.ContentHash,
		ReprocessCount: max(c.ReplayCount-1, 0), ReplayID: c.ReplayID,
	}
	if c.HasSource {
		prev.Source = c.Source
	}
	return Next(prev, change)
}

// Writer is the writer of a state. It is a closed list.
type Writer uint8

// The writers.
const (
	Consumer Writer = iota // the instance that finished a replay
	Operator               // the replayer, for the person who ran it
)

// WriterOf returns the writer of a state with this DLQ position. Only the replayer knows that position: the consumer
// finishes the replay by its own record.
func WriterOf(dlq header.Position) Writer {
	if dlq.Topic == "" {
		return Consumer
	}
	return Operator
}

// TransactionalID returns the transactional ID of every replayer of a source topic. Sharing it makes replayers fence
// each other.
func TransactionalID(source string) string { return "switchback-replayer-" + source }
