package replay

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/patch"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/rewrite"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/replay/transaction"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// FromLatest lets an edit start from the latest bytes of each dead letter.
const FromLatest = "latest"

// EditOptions describes an edit and the bytes that it starts from.
type EditOptions struct {
	Rewrite *rewrite.Rewrite
	// From is the content hash of the bytes that the editor looked at, or [FromLatest]. Empty means the original; a
	// dead letter that was edited before is then refused, so that nobody overwrites an edit without having seen it.
	From           string
	operation.Call // for Edit, not for PreviewEdit
	// Confirm receives the number of dead letters before any is changed; nil accepts any number.
	Confirm Confirm
}

// Edited is the result of an edit for one dead letter.
type Edited struct {
	ID      string         `json:"id"`
	Before  string         `json:"before"` // content hash
	After   string         `json:"after,omitempty"`
	Changes []patch.Change `json:"changes"`                // the first thousand
	More    int            `json:"more_changes,omitempty"` // number of the others
	Today   *plan.Verdict  `json:"today,omitempty"`        // verdict of today's transform on the edited bytes
	Why     string         `json:"why,omitempty"`          // why it cannot be edited
	shape   string
	value   []byte
	control header.Control
}

// PreviewEdit calls fn with the result of an edit for each selected dead letter, in the order of the DLQ. It changes
// nothing.
func (s *Service) PreviewEdit(ctx context.Context, f deadletters.Filter, o EditOptions, fn func(Edited) error) error {
	if err := f.Check(); err != nil {
		return err
	}
	chosen, err := s.selectBy(ctx, pendingUnlessNamed(f))
	if err != nil {
		return err
	}
	return s.eachRead(ctx, chosen, func(_ int, l *deadletters.Letter) error {
		e := s.edited(ctx, l, o, chosen.states)
		if e.Why == "" {
			verdict, _ := s.dryRun.Verdict(ctx, l, e.value)
			e.Today = &verdict
		}
		return fn(e)
	})
}

// Edit changes the bytes of the selected dead letters. The original stays where it is: the edited version is another
// DLQ record with the same ID, which counts from then on (docs/decisions/0021). One transaction writes the state, the
// record and the audit event with both hashes. A dead letter that cannot be edited is left, with the reason.
func (s *Service) Edit(ctx context.Context, f deadletters.Filter, o EditOptions) (ChangeResult, error) {
	op, chosen, err := s.startChange(ctx, "edit", pendingUnlessNamed(f), o.Call)
	if err != nil {
		return ChangeResult{}, err
	}
	return s.change(ctx, op, chosen.positions, o.Confirm, func(ctx context.Context, st *states.Table, l *deadletters.Letter) (decision, error) {
		chosen.states.ApplyReported(l)
		if why := changedMeanwhile(chosen.states, st, l.ID); why != "" {
			return leave(why), nil
		}
		e := s.edited(ctx, l, o, st)
		if e.Why != "" {
			return leave(e.Why), nil
		}
		return s.stageEdit(op, l, e, st)
	})
}

// changedMeanwhile returns that a dead letter changed after the DLQ was read and before the other replayers were
// fenced: the bytes that were read may not be its last ones.
func changedMeanwhile(before, now *states.Table, id string) string {
	then, unread := before.Of(id)
	state, why := now.Of(id)
	if why = cmp.Or(unread, why); why == "" && !then.At.Equal(state.At) {
		why = fmt.Sprintf("it was changed just now (it is %s%s): look at it again", state.Status, since(state))
	}
	return why
}

// edited applies an edit to one dead letter, or returns why it cannot be applied.
func (s *Service) edited(ctx context.Context, l *deadletters.Letter, o EditOptions, st *states.Table) Edited {
	e := Edited{ID: l.ID, Before: l.ContentHash, Changes: []patch.Change{}}
	if e.Why = s.uneditable(l, o, st); e.Why != "" {
		return e
	}
	why, err := deadletters.FetchOriginal(ctx, s.client, l, s.maxValue())
	if err != nil {
		why = err.Error()
	}
	if e.Why = why; why != "" {
		return e
	}
	made, err := s.dryRun.Rewrite(ctx, o.Rewrite, l)
	switch {
	case err != nil:
		why = err.Error()
	case len(made.Changes) == 0:
		why = "the edit changes nothing"
	}
	if e.Why = why; why != "" {
		return e
	}
	e.Changes, e.More, e.shape, e.value = made.Changes, made.More, made.Shape(), made.Value
	identity := s.mapping.Identify(ctx, l.Key, header.ProducerHeaders(l.Content.Headers), e.value)
	e.After = identity.ContentHash
	e.control = l.Control
	e.control.ContentHash, e.control.FeatureID, e.control.BBox = identity.ContentHash, identity.FeatureID, identity.BBox
	return e
}

// uneditable returns why a dead letter cannot be edited, whatever the edit is.
func (s *Service) uneditable(l *deadletters.Letter, o EditOptions, st *states.Table) string {
	state, why := st.Of(l.ID)
	switch {
	case why != "":
		return why
	case state.Status != deadletters.Pending:
		return fmt.Sprintf("it is %s%s; only pending dead letters can be edited", state.Status, since(state))
	case l.TooLarge != "":
		return l.TooLarge
	case l.Dialect != deadletters.Native || l.Control.DeadLetterID == "":
		return "it has no dead letter id of Switchback, by which the edited one would be recognized"
	case o.From == FromLatest || o.From == l.ContentHash, o.From == "" && !l.Edited():
		return ""
	case o.From == "":
		return "it was edited before: look at it again, then edit its latest bytes with --from " + l.ContentHash
	}
	return "its latest bytes are " + l.ContentHash + ", not those that the edit starts from: look at it again"
}

// stageEdit stages the new record of a dead letter with its state and audit event.
func (s *Service) stageEdit(op operation.Operation, l *deadletters.Letter, e Edited, st *states.Table) (decision, error) {
	prev, why := st.Of(l.ID)
	if why != "" {
		return leave(why), nil
	}
	d := s.rewritten(op, prev, l, e.After, e.value, e.control.AppendTo(slices.Clip(header.ProducerHeaders(l.Content.Headers))))
	d.Event.Message = fmt.Sprintf("dead letter %s: edited by %s: %s", l.ID, op.By, e.shape)
	return decision{staged: *d}, nil
}

// rewritten stages another record of a dead letter, with other bytes.
func (s *Service) rewritten(op operation.Operation, prev deadletters.State, l *deadletters.Letter, hash string, value []byte, headers []kgo.RecordHeader) *staged {
	d := &staged{Change: transaction.Change{Letter: l, Prev: prev.Naming(l)}}
	d.Next = d.Prev
	d.Next.ContentHash, d.Next.Reason, d.Next.By, d.Next.At = hash, op.Reason, op.By, s.now()
	d.Next.Operation, d.Next.Before = op.ID, prev.Status
	d.Record = &kgo.Record{
		Topic: s.cfg.Topics.DLQ, Partition: l.DLQ.Partition, Key: bytes.Clone(l.Key), Value: value, Timestamp: l.At,
		Headers: append(headers, kgo.RecordHeader{Key: deadletters.HeaderEditOf, Value: []byte(l.DLQ.String())}),
	}
	d.SetEvent(&op, audit.Edited)
	d.Event.After, d.Event.Destination = hash, s.cfg.Topics.DLQ
	return d
}
