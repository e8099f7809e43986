package deadletters

import (
	"errors"
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// ErrTransition is wrapped for a change of status that the table in the package comment does not allow;
// [TransitionError] has the statuses.
var ErrTransition = errors.New("illegal change of a dead letter's status")

// TransitionError names the refused change and its dead letter.
type TransitionError struct {
	ID       string
	From, To Status
}

// Error names the dead letter, both statuses and the allowed ones.
func (e *TransitionError) Error() string {
	return fmt.Sprintf("dead letter %s cannot go from %s to %s; allowed: %v", e.ID, e.From, e.To, e.From.Successors())
}

// Is makes errors.Is(err, ErrTransition) true.
func (e *TransitionError) Is(target error) bool { return target == ErrTransition }

// Change is an intended change of a dead letter.
type Change struct {
	To       Status
	Reason   string
	By       string
	ReplayID string    // the replay that takes it; empty keeps the last one
	At       time.Time // rounded down to milliseconds
	// Operation is the operator's operation that makes the change, by which it can be undone; "" for the consumer.
	Operation string
	// Destination is the topic outside the pipeline that the dead letter is sent to; "" if none.
	Destination string
}

// Next returns the state of a dead letter after a change; it is pure. The zero status counts as pending (a dead letter
// without a state record). Leaving replaying adds one to the reprocess count, whatever the outcome. The error is a
// *[TransitionError].
func Next(prev State, c Change) (State, error) {
	if prev.Status == "" {
		prev.Status = Pending
	}
	if !prev.Status.CanBecome(c.To) {
		return State{}, &TransitionError{ID: prev.ID, From: prev.Status, To: c.To}
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
