package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/states"
)

// ErrNoOperation marks an operation without any dead letter in the audit topic. Match it with errors.Is.
var ErrNoOperation = errors.New("no such operation")

// undoing is the reversal of one operation (docs/decisions/0077).
type undoing struct {
	service *Service
	op      operation.Operation           // the reversal
	acts    map[states.Key]audit.Decision // decision of the reversed operation about each dead letter, from the audit topic
}

// Undo restores the dead letters of one operation: their status, and after an edit their value. It reverses only dead
// letters that nobody has changed since, and leaves the others with a reason. It cannot call back sent records or
// restore pruned ones. The reversal is an operation of its own that can be undone. Undo returns [ErrNoOperation] if
// the audit topic has no dead letter of the operation.
func (s *Service) Undo(ctx context.Context, operationID string, c operation.Call, confirm Confirm) (ChangeResult, error) {
	if err := c.Check(); err != nil {
		return ChangeResult{}, err
	}
	u, chosen, err := s.undoing(ctx, operationID, c)
	if err != nil {
		return ChangeResult{}, err
	}
	result, err := s.change(ctx, u.op, chosen.positions, confirm, u.reverse)
	if err == nil {
		u.countGone(&result)
	}
	return result, err
}

// PreviewUndo returns what [Service.Undo] would do. It changes nothing.
func (s *Service) PreviewUndo(ctx context.Context, operationID string) (ChangeResult, error) {
	u, chosen, err := s.undoing(ctx, operationID, operation.Call{})
	if err != nil {
		return ChangeResult{}, err
	}
	result := ChangeResult{Selected: len(chosen.positions)}
	err = s.eachRead(ctx, chosen, func(_ int, l *deadletters.Letter) error {
		do, err := u.reverse(ctx, chosen.states, l)
		switch {
		case err != nil:
			return err
		case do.why != "":
			result.skip(Skip{ID: l.ID, Why: do.why})
		default:
			result.Changed++
		}
		return nil
	})
	u.countGone(&result)
	return result, err
}

// undoing finds the dead letters of an operation.
func (s *Service) undoing(ctx context.Context, operationID string, c operation.Call) (*undoing, *selection, error) {
	op, err := s.operation("undo", c, deadletters.Filter{})
	if err != nil {
		return nil, nil, err
	}
	op.Undoes, op.Filter = operationID, "operation "+operationID
	u := &undoing{service: s, op: op, acts: map[states.Key]audit.Decision{}}
	f := audit.Filter{Operation: operationID, Since: startOf(operationID)}
	err = s.AuditEvents(ctx, f, func(e audit.Event) error {
		if e.DeadLetter != "" {
			u.acts[states.KeyOf(e.DeadLetter)] = e.Decision
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if len(u.acts) == 0 {
		return nil, nil, fmt.Errorf("%w: %s has no event about a dead letter of the operation %s; replayer audit lists operations", ErrNoOperation, s.cfg.Topics.Audit, operationID)
	}
	st, err := s.states.LoadUndoable(ctx, operationID)
	if err != nil {
		return nil, nil, err
	}
	chosen, err := s.selectSome(ctx, st, deadletters.Filter{}, func(id string) bool {
		_, of := u.acts[states.KeyOf(id)]
		return of
	})
	return u, chosen, err
}

// startOf returns a time before the start of an operation, if its ID contains the time; else the zero time.
func startOf(operationID string) time.Time {
	if at := operation.TimeOf(operationID); !at.IsZero() {
		return at.Add(-states.ClockSkew)
	}
	return time.Time{}
}

// reverse stages the earlier state of a dead letter, or returns why the letter is left.
func (u *undoing) reverse(ctx context.Context, st *states.Table, l *deadletters.Letter) (decision, error) {
	prev, why := st.Of(l.ID)
	if why != "" {
		return leave(why), nil
	}
	did := u.acts[states.KeyOf(l.ID)]
	before, held := st.Undoable(l.ID)
	switch {
	case did == audit.Replayed:
		return leave("it was put back or sent to another topic: a sent record cannot be called back"), nil
	case !held:
		return leave(fmt.Sprintf("it was changed since: it is %s%s", prev.Status, since(prev))), nil
	case did == audit.Edited:
		return u.unedit(ctx, prev, l)
	case !prev.Status.CanBecome(before):
		return leave(fmt.Sprintf("it is %s%s and was %s before: this change cannot be reversed", prev.Status, since(prev), before)), nil
	}
	return u.service.stage(u.op, before, prev, l)
}

// unedit stages a further record with the value that a dead letter had before its last edit.
func (u *undoing) unedit(ctx context.Context, prev deadletters.State, l *deadletters.Letter) (decision, error) {
	s, from := u.service, l.EditOf
	var was *deadletters.Letter
	span := map[int32]kafka.Span{from.Partition: {Start: from.Offset, End: from.Offset + 1}}
	err := s.reading().Letters(ctx, s.client, s.cfg.Topics.DLQ, span, func(found *deadletters.Letter) error {
		if found.ID == l.ID && found.DLQ == from {
			was = found
		}
		return nil
	})
	if err != nil {
		return decision{}, err
	}
	if was == nil {
		return leave("the bytes from before the edit are gone: retention deleted " + from.String()), nil
	}
	headers := slices.DeleteFunc(slices.Clone(was.Content.Headers), func(h kgo.RecordHeader) bool { return h.Key == deadletters.HeaderEditOf })
	d := s.rewritten(u.op, prev, l, was.ContentHash, was.Content.Value, headers)
	d.Event.Message = fmt.Sprintf("dead letter %s: edit of %s undone by %s", l.ID, u.op.Undoes, u.op.By)
	return decision{staged: *d}, nil
}

// countGone counts the dead letters of the operation whose records are gone from the DLQ.
func (u *undoing) countGone(r *ChangeResult) {
	gone := len(u.acts) - r.Selected
	r.Selected += gone
	for range gone {
		r.skip(Skip{Why: "its record is gone: it was pruned, or retention deleted it"})
	}
	r.Untouched = r.sorted()
}
