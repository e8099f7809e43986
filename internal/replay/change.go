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
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/replay/transaction"
)

// Verb is what an operator does with dead letters other than replaying them. It is a closed list (see [Verbs]).
type Verb string

// The verbs.
const (
	Discard  Verb = "discard"  // give up
	Escalate Verb = "escalate" // mark for a decision by a person
	Reopen   Verb = "reopen"   // make pending again: reverses a discard, an escalation or the consumer's closing as superseded
)

// Verbs returns every verb.
func Verbs() []Verb { return []Verb{Discard, Escalate, Reopen} }

// To returns the status that the verb sets.
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

// From returns the statuses that a dead letter may have before.
func (v Verb) From() []deadletters.Status {
	if v == Reopen {
		return []deadletters.Status{deadletters.Discarded, deadletters.Escalated, deadletters.Superseded}
	}
	if v == Discard {
		return []deadletters.Status{deadletters.Pending, deadletters.Escalated}
	}
	return []deadletters.Status{deadletters.Pending}
}

// unasked returns the statuses that the verb changes if the filter names none. Superseded dead letters need no
// action, and escalated ones wait for a person's decision.
func (v Verb) unasked() []deadletters.Status {
	if v == Reopen {
		return []deadletters.Status{deadletters.Discarded, deadletters.Escalated}
	}
	return []deadletters.Status{deadletters.Pending}
}

// Selection returns the filter of a change. Without statuses or IDs, it selects the dead letters that the verb
// changes unasked. Of the named statuses it keeps those that the verb can change, so that nobody is asked about dead
// letters that would be left. The error is [operation.ErrOptions] if the verb can change none of them.
func (v Verb) Selection(f deadletters.Filter) (deadletters.Filter, error) {
	if len(f.Statuses) == 0 {
		if len(f.IDs) == 0 {
			f.Statuses = v.unasked()
		}
		return f, nil
	}
	named, can := f.Statuses, append(v.From(), deadletters.Replaying) // the replay of a dead letter of other software can be ended
	f.Statuses = slices.DeleteFunc(slices.Clone(named), func(s deadletters.Status) bool { return !slices.Contains(can, s) })
	if len(f.Statuses) == 0 {
		return f, fmt.Errorf("%w: %s changes dead letters that are %s, not those that are %s", operation.ErrOptions, v, either(v.From()), either(named))
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

// Change sets the verb's status for the selected dead letters, with a reason. It can be undone: reopen reverses it
// until the dead letter is pruned. The next replay closes a reopened superseded dead letter again, unless that replay
// is forced. A dead letter that cannot be changed is left, with the reason. See [Confirm] for confirm.
func (s *Service) Change(ctx context.Context, f deadletters.Filter, v Verb, c operation.Call, confirm Confirm) (ChangeResult, error) {
	if !slices.Contains(Verbs(), v) {
		return ChangeResult{}, fmt.Errorf("%w: unknown verb %q; use one of %v", operation.ErrOptions, string(v), Verbs())
	}
	f, err := v.Selection(f)
	if err != nil {
		return ChangeResult{}, err
	}
	op, chosen, err := s.startChange(ctx, string(v), f, c)
	if err != nil {
		return ChangeResult{}, err
	}
	return s.change(ctx, op, chosen.positions, confirm, func(_ context.Context, st *states.Table, l *deadletters.Letter) (decision, error) {
		return s.changed(op, v, st, l)
	})
}

// ends reports whether the verb may end a replay that nobody else ends: other software, which now has the dead
// letter, does not report success. If it fails later, the dead letter is pending again.
func (v Verb) ends(state deadletters.State) bool {
	return state.Status == deadletters.Replaying && deadletters.OfOtherSoftware(state.ID)
}

// PutBack counts dead letters that a replay sent to a topic where nobody reports success, and that have not died
// again as far as is known.
type PutBack struct {
	Topics map[string]int // by destination topic
	Groups map[string]int // by fingerprint
}

// PutBack counts such dead letters among those that a filter of [Verb.Selection] selects.
func (s *Service) PutBack(ctx context.Context, f deadletters.Filter) (PutBack, error) {
	out := PutBack{map[string]int{}, map[string]int{}}
	st, err := s.states.Load(ctx)
	if err != nil || !st.SentAny() {
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
		state, why := st.Of(l.ID)
		if why == "" && state.Destination != "" && l.Status == deadletters.Discarded { // the index also knows which died again
			out.Topics[state.Destination]++
			out.Groups[l.Group]++
		}
		return nil
	})
}

// NewOperation returns an ID for a change that has not begun (see [operation.Call]).
func (s *Service) NewOperation(word string) string { return operation.NewID(word, s.now()) }

// startChange checks a call and its filter, selects the dead letters and describes the operation.
func (s *Service) startChange(ctx context.Context, word string, f deadletters.Filter, c operation.Call) (operation.Operation, *selection, error) {
	if err := cmp.Or(c.Check(), f.Check()); err != nil {
		return operation.Operation{}, nil, err
	}
	chosen, err := s.selectBy(ctx, f)
	if err != nil {
		return operation.Operation{}, nil, err
	}
	op, err := s.operation(word, c, f)
	return op, chosen, err
}

// operation describes an operation for its states and audit events.
func (s *Service) operation(word string, c operation.Call, f deadletters.Filter) (operation.Operation, error) {
	filter, err := json.Marshal(f)
	if err != nil {
		return operation.Operation{}, fmt.Errorf("encode the filter: %w", err)
	}
	now := s.now()
	return operation.Operation{
		ID: cmp.Or(c.Operation, operation.NewID(word, now)), Word: word, Pipeline: s.cfg.Pipeline.ID, By: cmp.Or(c.By, s.by), User: s.user,
		Invocation: operation.NewID("call", now), Reason: c.Reason, Filter: string(filter), Lease: c.Lease,
		ContinueCommand: c.ContinueCommand, IncludingPutBack: c.IncludingPutBack,
	}, nil
}

// changed stages the change of one dead letter, or returns why it is left.
func (s *Service) changed(op operation.Operation, v Verb, st *states.Table, l *deadletters.Letter) (decision, error) {
	prev, why := st.Of(l.ID)
	switch {
	case why != "":
		return leave(why), nil
	case !slices.Contains(v.From(), prev.Status) && !v.ends(prev):
		return leave(fmt.Sprintf("it is %s%s; %s changes dead letters that are %s", prev.Status, since(prev), v, either(v.From()))), nil
	case v == Reopen && prev.Destination != "" && !op.IncludingPutBack:
		return leave(fmt.Sprintf("it was already put back into %s at %s (by %s) and is not known to have died again: after reopening, a replay sends it a second time; "+
			"--including-put-back reopens it anyway", prev.Destination, prev.At.Format(time.RFC3339), prev.By)), nil
	}
	return s.stage(op, v.To(), prev, l)
}

// stage stages a dead letter's next state and its audit event.
func (s *Service) stage(op operation.Operation, to deadletters.Status, prev deadletters.State, l *deadletters.Letter) (decision, error) {
	prev = prev.Naming(l)
	next, err := deadletters.Next(prev, deadletters.Change{To: to, Reason: op.Reason, By: op.By, At: s.now(), Operation: op.ID})
	if err != nil {
		return decision{}, err
	}
	d := decision{staged: staged{Change: transaction.Change{Letter: l, Prev: prev, Next: next}}}
	d.SetEvent(&op, audit.StateChanged)
	return d, nil
}

// Confirm receives the number of dead letters before a change changes any. If it returns an error, nothing is
// changed.
type Confirm func(letters int) error

// ChangeResult is the result of a change. After an error it counts what was committed before.
type ChangeResult struct {
	ID       string `json:"id"`       // of the operation in the audit trail; "" if nothing was changed
	Selected int    `json:"selected"` // dead letters that the filter chose
	Changed  int    `json:"changed"`
	Untouched
	Transactions int `json:"transactions"`
	// Overtaken has the IDs of the first 1000 changed dead letters that had been closed as superseded. Only a forced
	// replay lets them take effect.
	Overtaken []string `json:"overtaken,omitempty"`
}

// stager stages the change of a dead letter, or returns why it is left. It decides by the states as of the fencing.
type stager func(ctx context.Context, st *states.Table, l *deadletters.Letter) (decision, error)

// changing executes a change of chosen dead letters: discard, escalate, reopen, edit, undo.
type changing struct {
	execution
	positions []deadletters.Place
	stage     stager
	result    ChangeResult
}

// change executes a change of chosen dead letters. A nil confirm accepts any number.
func (s *Service) change(ctx context.Context, op operation.Operation, places []deadletters.Place, confirm Confirm, stage stager) (ChangeResult, error) {
	c := s.changing(op, places, stage)
	if len(places) == 0 {
		return c.result, nil
	}
	if confirm != nil {
		if err := confirm(len(places)); err != nil {
			return c.result, err
		}
	}
	err := c.run(ctx)
	r := &c.result
	r.Transactions, r.Untouched = c.transactions, c.left.sorted()
	if r.Changed > 0 { // otherwise no event in the audit topic has the ID
		r.ID = op.ID
	}
	s.log.Info("dead letters changed", "operation", op.Word, "id", op.ID, "changed", r.Changed, "left", r.Left, "error", err)
	return *r, err
}

func (s *Service) changing(op operation.Operation, places []deadletters.Place, stage stager) *changing {
	c := &changing{positions: places, stage: stage, result: ChangeResult{Selected: len(places)}}
	c.execution = execution{service: s, op: op, task: c, letters: len(places)}
	return c
}

// start reports whether an earlier session, whose commit was not confirmed, has changed dead letters.
func (c *changing) start(_ context.Context, st *states.Table) (begun bool, err error) {
	return st.OwnChanges() > 0, nil
}

func (c *changing) rest() []reader {
	places := c.positions[c.settled:]
	return []reader{func(ctx context.Context, fn func(candidate) error) error {
		return c.service.readEach(ctx, places, func(_ int, l *deadletters.Letter) error { return fn(candidate{letter: l}) })
	}}
}

func (c *changing) decide(ctx context.Context, st *states.Table, of *candidate) (decision, error) {
	l := of.letter
	if l == nil {
		return leave("its record is gone: retention deleted it"), nil
	}
	if was, changed := st.ChangedBefore(l.ID); changed {
		return decision{already: true, overtaken: was == deadletters.Superseded}, nil
	}
	st.ApplyReported(l)
	do, err := c.stage(ctx, st, l)
	do.overtaken = do.Prev.Status == deadletters.Superseded
	return do, err
}

func (c *changing) count(b *batch) {
	r := &c.result
	r.Changed += len(b.staged) + b.already
	for _, id := range b.overtaken {
		if len(r.Overtaken) < maxSkips && !slices.Contains(r.Overtaken, id) {
			r.Overtaken = append(r.Overtaken, id)
		}
	}
}

func (c *changing) counts() control.JobCounts { return control.JobCounts{Done: c.result.Changed} }

func (c *changing) gate(context.Context) error { return nil }

func (c *changing) limits() limits { return limits{letters: c.service.batchLetters} }

func (c *changing) pace(context.Context, int) error { return nil }

func (c *changing) wait(context.Context) error { return nil }

func (c *changing) closing() *audit.Event { return nil }

func (c *changing) lostBroker(error) {}
