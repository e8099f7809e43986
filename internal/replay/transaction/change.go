package transaction

import (
	"cmp"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/operation"
)

// Change is the part of a transaction that concerns one dead letter: its record, if any, its new state, and an audit
// event.
type Change struct {
	Letter *deadletters.Letter
	Record *kgo.Record // the replayed or edited record; nil if only the state changes
	Sends  bool        // the record goes back to the pipeline
	Prev   deadletters.State
	Next   deadletters.State // zero if Gone
	Gone   bool              // the dead letter is removed: a tombstone replaces its state
	Event  audit.Event

	SentTo Partition // where the record was written; set by the commit
	Offset int64
}

// SetEvent sets the audit event of the change, without the fields that depend on the operation. The event of a dead
// letter that is Gone gets no time.
func (d *Change) SetEvent(op *operation.Operation, decision audit.Decision) {
	l, c := d.Letter, d.Letter.Control
	e := audit.Event{
		Time: d.Next.At, Pipeline: op.Pipeline, RunID: op.ID, FeatureID: c.FeatureID, ContentHash: l.ContentHash,
		Decision: decision, Reason: d.Next.Reason, Code: c.ErrorCode, Class: c.ErrorClass, Stage: c.ErrorStage,
		Attempt: c.Attempt, Key: l.Key, DeadLetter: l.ID, By: op.By, User: op.User, Call: op.Invocation, Plan: op.Plan, Before: l.ContentHash, After: l.ContentHash,
		Message: fmt.Sprintf("dead letter %s: %s -> %s by %s", l.ID, cmp.Or(d.Prev.Status, deadletters.Pending), d.Next.Status, op.By),
	}
	if d.Gone {
		e.Reason = op.Reason
		e.Message = fmt.Sprintf("dead letter %s: %s, pruned by %s", l.ID, d.Prev.Status, op.By)
	}
	if c.HasSource {
		e.Source = c.Source.String()
	}
	d.Event = e
}
