package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// Verb is what an operator does with letters besides putting them back. It is a closed list (see [Verbs]).
type Verb string

// The verbs.
const (
	Discard  Verb = "discard"  // give letters up
	Escalate Verb = "escalate" // say that a person has to decide
	Reopen   Verb = "reopen"   // take a discard, an escalation or the consumer's closing as superseded back: pending again
)

// Verbs returns every verb.
func Verbs() []Verb { return []Verb{Discard, Escalate, Reopen} }

// To is the status that the verb gives a letter.
func (v Verb) To() deadletters.Status {
	switch v {
	case Discard:
		return deadletters.Discarded
	case Escalate:
		return deadletters.Escalated
	case Reopen:
		return deadletters.Pending
	}
	return ""
}

// From lists the statuses that a letter may have before.
func (v Verb) From() []deadletters.Status {
	if v == Reopen {
		return []deadletters.Status{deadletters.Discarded, deadletters.Escalated, deadletters.Superseded}
	}
	if v == Discard {
		return []deadletters.Status{deadletters.Pending, deadletters.Escalated}
	}
	return []deadletters.Status{deadletters.Pending}
}

// unasked lists the statuses that the verb changes without their being named. Superseded letters need nobody as they are, and
// escalated ones wait for a person's decision.
func (v Verb) unasked() []deadletters.Status {
	if v == Reopen {
		return []deadletters.Status{deadletters.Discarded, deadletters.Escalated}
	}
	return []deadletters.Status{deadletters.Pending}
}

// Selection is the filter of a change: without statuses or ids, the letters that the verb changes unasked. Of the statuses that are
// named, those count of which the verb can change letters, so that nobody is asked about letters that would be left. The error is
// [ErrOptions] when it can change none of them.
func (v Verb) Selection(f deadletters.Filter) (deadletters.Filter, error) {
	if len(f.Statuses) == 0 {
		if len(f.IDs) == 0 {
			f.Statuses = v.unasked()
		}
		return f, nil
	}
	named, can := f.Statuses, append(v.From(), deadletters.Replaying) // a letter that other software replays can be ended
	f.Statuses = slices.DeleteFunc(slices.Clone(named), func(s deadletters.Status) bool { return !slices.Contains(can, s) })
	if len(f.Statuses) == 0 {
		return f, fmt.Errorf("%w: %s changes dead letters that are %s, and none that is %s", ErrOptions, v, either(v.From()), either(named))
	}
	return f, nil
}

// either lists statuses as alternatives.
func either(statuses []deadletters.Status) string {
	var words []string
	for _, s := range statuses {
		words = append(words, string(s))
	}
	return strings.Join(words, " or ")
}

// Change gives the selected letters the verb's status, with a reason. It is reversible: reopen takes it back until the
// letter is pruned. A superseded letter that is reopened is closed again by its next replay, unless that is forced. A letter that cannot be changed so is left, with the reason.
// confirm hears how many letters were selected before anything is changed (see [Confirm]).
func (s *Service) Change(ctx context.Context, f deadletters.Filter, v Verb, c Call, confirm Confirm) (ChangeResult, error) {
	if !slices.Contains(Verbs(), v) {
		return ChangeResult{}, fmt.Errorf("%w: unknown verb %q; use one of %v", ErrOptions, string(v), Verbs())
	}
	if err := c.check(); err != nil {
		return ChangeResult{}, err
	}
	if err := f.Check(); err != nil {
		return ChangeResult{}, err
	}
	f, err := v.Selection(f)
	if err != nil {
		return ChangeResult{}, err
	}
	chosen, err := s.choose(ctx, f)
	if err != nil {
		return ChangeResult{}, err
	}
	op, err := s.operation(string(v), c, f)
	if err != nil {
		return ChangeResult{}, err
	}
	return s.change(ctx, op, chosen.places, confirm, func(_ context.Context, st *standing, l *deadletters.Letter) (*staged, string, error) {
		return s.changed(op, v, st, l)
	})
}

// ends reports whether the verb may end a replay that nobody else will: other software, which has the letter now, says
// nothing when it succeeds. When it fails after that, the letter is pending again.
func (v Verb) ends(state deadletters.State) bool {
	return state.Status == deadletters.Replaying && deadletters.OfOtherSoftware(state.ID)
}

// PutBack counts letters that a replay sent to a topic where nobody reports success, and that are not known to have died again.
type PutBack struct {
	Topics map[string]int // by the topic that they were sent to
	Groups map[string]int // by fingerprint
}

// PutBack counts those of the letters that a filter of [Verb.Selection] selects.
func (s *Service) PutBack(ctx context.Context, f deadletters.Filter) (PutBack, error) {
	out := PutBack{map[string]int{}, map[string]int{}}
	st, err := s.loadStanding(ctx)
	if err != nil || !st.sentAny() {
		return out, err
	}
	index, err := s.Index(ctx)
	if err != nil {
		return out, err
	}
	fresh, err := index.Fresh(ctx)
	if err != nil {
		return out, err
	}
	return out, fresh.Letters(ctx, dlqindex.Query{Filter: f}, func(l deadletters.Letter) error {
		state, why := st.read(l.ID)
		if why == "" && state.Destination != "" && l.Status == deadletters.Discarded { // the index knows, too, which died again
			out.Topics[state.Destination]++
			out.Groups[l.Group]++
		}
		return nil
	})
}

// NewOperation returns an id for a change that has not begun (see [Call]).
func (s *Service) NewOperation(word string) string { return newID(word, s.now()) }

// operation names what is done.
func (s *Service) operation(word string, c Call, f deadletters.Filter) (operation, error) {
	return s.operationAs(cmp.Or(c.Operation, newID(word, s.now())), word, c, f)
}

// operationAs is operation with an id that is given.
func (s *Service) operationAs(id, word string, c Call, f deadletters.Filter) (operation, error) {
	filter, err := json.Marshal(f)
	if err != nil {
		return operation{}, fmt.Errorf("encode the filter: %w", err)
	}
	return operation{id: id, by: cmp.Or(c.By, s.by), user: s.user, call: newID("call", s.now()), reason: c.Reason, filter: string(filter), word: word, leasing: c.Lease, goOn: c.GoOn, putBack: c.IncludingPutBack}, nil
}

// changed stages the change of one letter, or says why it is left.
func (s *Service) changed(op operation, v Verb, st *standing, l *deadletters.Letter) (*staged, string, error) {
	prev, why := st.read(l.ID)
	if why != "" {
		return nil, why, nil
	}
	if !slices.Contains(v.From(), prev.Status) && !v.ends(prev) {
		return nil, fmt.Sprintf("it is %s%s; %s changes dead letters that are %s", prev.Status, since(prev), v, either(v.From())), nil
	}
	if v == Reopen && prev.Destination != "" && !op.putBack {
		return nil, fmt.Sprintf("it was put back into %s already, at %s (by %s), and is not known to have died again: after reopening, a replay sends it a second time; "+
			"--including-put-back reopens it all the same", prev.Destination, prev.At.Format(time.RFC3339), prev.By), nil
	}
	return s.stage(op, v.To(), prev, l)
}

// stage stages a dead letter's next state, with its audit event.
func (s *Service) stage(op operation, to deadletters.Status, prev deadletters.State, l *deadletters.Letter) (*staged, string, error) {
	prev = prev.Naming(l)
	next, err := deadletters.Next(prev, deadletters.Change{To: to, Reason: op.reason, By: op.by, At: s.now(), Operation: op.id})
	if err != nil {
		return nil, "", err
	}
	d := &staged{letter: l, prev: prev, next: next}
	d.event = s.event(op, d, audit.StateChanged)
	return d, "", nil
}
