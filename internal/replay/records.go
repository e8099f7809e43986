package replay

import (
	"cmp"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
)

// staged is what one transaction does with one letter: perhaps a record of it, its new state, and an audit
// event.
type staged struct {
	letter *deadletters.Letter
	record *kgo.Record // the letter as it goes back, or as it was edited; nil when only the state changes
	sends  bool        // record goes back to the pipeline
	prev   deadletters.State
	next   deadletters.State // zero with gone
	gone   bool              // the letter is forgotten: a tombstone in place of a state
	event  audit.Event
	of     spotted   // as it was read, to be decided about again
	sentTo partition // where its record was written, at which offset; set by the client
	offset int64
	// sentBefore is what was known of the key before the letter went back (see noteSent).
	sentBefore int64
}

// operation is what all letters of one command have in common.
type operation struct {
	id      string // the replay's, or of the change
	by      string
	user    string // of the operating system, and the machine
	call    string // of the command
	reason  string
	plan    string // checksum
	filter  string // JSON
	word    string // what is done, for the audit trail: "replay", "discard", …
	lease   *lease
	leasing LeaseOptions
	goOn    func(letters int) string // see [Call]; nil names no command
	undoes  string                   // the operation that this one reverses; "" of all others
	force   string                   // why letters may overwrite newer data; "" when they may not
	putBack bool                     // a reopening takes what was put back already, too
}

// begin is the audit event that an operation starts with: who, why, which filter, which plan.
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
		By: op.by, User: op.user, Call: op.call, Plan: op.plan, Filter: clip(op.filter, maxFilter), Force: op.force, Key: []byte(op.id),
		Message: message,
	}
}

// maxFilter bounds the filter in an audit event; a filter that names thousands of ids is cut.
const maxFilter = 16 << 10

// event is the audit event of one letter, without what differs by the kind of operation.
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
