package replay

import (
	"cmp"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/operation"
)

// staged is the part of a transaction that concerns one dead letter: its record, if any, its new state, and an audit
// event.
type staged struct {
	letter *deadletters.Letter
	record *kgo.Record // the replayed or edited record; nil if only the state changes
	sends  bool        // the record goes back to the pipeline
	prev   deadletters.State
	next   deadletters.State // zero if gone
	gone   bool              // the dead letter is removed: a tombstone replaces its state
	event  audit.Event
	of     candidate // as it was read; the decision is repeated from it
	sentTo partition // partition and offset that the record was written to; set by the client
	offset int64
	// sentBefore is the last offset that was known for the key before the dead letter went back (see noteSent).
	sentBefore int64
}

// event returns the audit event of one dead letter, without the fields that depend on the operation.
func (s *Service) event(op operation.Operation, d *staged, decision audit.Decision) audit.Event {
	l, c := d.letter, d.letter.Control
	e := audit.Event{
		Time: d.next.At, Pipeline: s.cfg.Pipeline.ID, RunID: op.ID, FeatureID: c.FeatureID, ContentHash: l.ContentHash,
		Decision: decision, Reason: d.next.Reason, Code: c.ErrorCode, Class: c.ErrorClass, Stage: c.ErrorStage,
		Attempt: c.Attempt, Key: l.Key, Letter: l.ID, By: op.By, User: op.User, Call: op.Invocation, Plan: op.Plan, Before: l.ContentHash, After: l.ContentHash,
		Message: fmt.Sprintf("dead letter %s: %s -> %s by %s", l.ID, cmp.Or(d.prev.Status, deadletters.Pending), d.next.Status, op.By),
	}
	if d.gone {
		e.Time, e.Reason = s.now(), op.Reason
		e.Message = fmt.Sprintf("dead letter %s: %s, pruned by %s", l.ID, d.prev.Status, op.By)
	}
	if c.HasSource {
		e.Source = c.Source.String()
	}
	return e
}
