package replay

import (
	"cmp"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
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

// operation has the fields that all dead letters of one command share.
type operation struct {
	id      string // of the replay or the change
	by      string
	user    string // user of the operating system, and the machine
	call    string // ID of the command
	reason  string
	plan    string // checksum of the plan
	filter  string // JSON
	word    string // name of the operation in the audit topic: "replay", "discard", …
	lease   *lease
	leasing LeaseOptions
	goOn    func(letters int) string // see [Call]; nil names no command
	undoes  string                   // ID of the operation that this one reverses; "" for all others
	force   string                   // why dead letters may overwrite newer data; "" keeps the version guard
	putBack bool                     // a reopening also selects dead letters that were put back
}

// begin returns the audit event that an operation starts with: operator, reason, filter and plan.
func (s *Service) begin(op operation, letters int) *audit.Event {
	message := fmt.Sprintf("%s of %d dead letters by %s", op.word, letters, op.by)
	if letters == 1 {
		message = fmt.Sprintf("%s of a dead letter by %s", op.word, op.by)
	}
	if op.force != "" {
		message += ", forced: they may overwrite newer data"
	}
	return &audit.Event{
		Time: s.now(), Pipeline: s.cfg.Pipeline.ID, RunID: op.id, Decision: audit.Operation, Reason: op.reason,
		By: op.by, User: op.user, Call: op.call, Plan: op.plan, Filter: header.Clip(op.filter, maxFilter), Force: op.force, Key: []byte(op.id),
		Message: message,
	}
}

// maxFilter bounds the filter in an audit event, in bytes. A filter with thousands of IDs is cut.
const maxFilter = 16 << 10

// event returns the audit event of one dead letter, without the fields that depend on the operation.
func (s *Service) event(op operation, d *staged, decision audit.Decision) audit.Event {
	l, c := d.letter, d.letter.Control
	e := audit.Event{
		Time: d.next.At, Pipeline: s.cfg.Pipeline.ID, RunID: op.id, FeatureID: c.FeatureID, ContentHash: l.ContentHash,
		Decision: decision, Reason: d.next.Reason, Code: c.ErrorCode, Class: c.ErrorClass, Stage: c.ErrorStage,
		Attempt: c.Attempt, Key: l.Key, Letter: l.ID, By: op.by, User: op.user, Call: op.call, Plan: op.plan, Before: l.ContentHash, After: l.ContentHash,
		Message: fmt.Sprintf("dead letter %s: %s -> %s by %s", l.ID, cmp.Or(d.prev.Status, deadletters.Pending), d.next.Status, op.by),
	}
	if d.gone {
		e.Time, e.Reason = s.now(), op.reason
		e.Message = fmt.Sprintf("dead letter %s: %s, pruned by %s", l.ID, d.prev.Status, op.by)
	}
	if c.HasSource {
		e.Source = c.Source.String()
	}
	return e
}
