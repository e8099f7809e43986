package replay

import (
	"context"
	"slices"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Confirm hears how many letters a change is about, before it changes any. An error of its ends the change, which has changed
// nothing then.
type Confirm func(letters int) error

// ChangeResult says what a change did. After an error it counts what had been committed by then.
type ChangeResult struct {
	ID       string `json:"id"`       // of the operation, as the audit trail has it; "" when nothing was changed
	Selected int    `json:"selected"` // letters that the filter chose
	Changed  int    `json:"changed"`
	Untouched
	Transactions int `json:"transactions"`
	// Overtaken names the first 1000 letters of those changed that had been closed as superseded: only a forced replay
	// lets them take effect.
	Overtaken []string `json:"overtaken,omitempty"`
}

// stager stages what is done with a letter, or says why it is left. It decides by the states as of the fencing.
type stager func(ctx context.Context, st *standing, l *deadletters.Letter) (do *staged, why string, err error)

// changing is the change of chosen letters: discard, escalate, reopen, edit, undo.
type changing struct {
	execution
	places []dlqPlace
	stage  stager
	result ChangeResult
}

// change changes chosen letters. confirm consents to their number; nil consents to any.
func (s *Service) change(ctx context.Context, op operation, places []dlqPlace, confirm Confirm, stage stager) (ChangeResult, error) {
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
	if r.Changed > 0 { // else no event of the audit topic has the id
		r.ID = op.id
	}
	s.log.Info("dead letters changed", "operation", op.word, "id", op.id, "changed", r.Changed, "left", r.Left, "error", err)
	return *r, err
}

func (s *Service) changing(op operation, places []dlqPlace, stage stager) *changing {
	c := &changing{places: places, stage: stage, result: ChangeResult{Selected: len(places)}}
	c.execution = execution{service: s, op: op, task: c, letters: len(places)}
	return c
}

// start reports whether an earlier session, whose commit was not confirmed, has changed letters.
func (c *changing) start(_ context.Context, st *standing) (begun bool, err error) {
	return len(st.own.before) > 0, nil
}

func (c *changing) rest() []reader {
	places := c.places[c.settled:]
	return []reader{func(ctx context.Context, fn func(spotted) error) error {
		return c.service.letters(ctx, places, func(_ int, l *deadletters.Letter) error { return fn(spotted{letter: l}) })
	}}
}

func (c *changing) decide(ctx context.Context, st *standing, of *spotted) (decision, error) {
	l := of.letter
	if l == nil {
		return leave("its record is gone: retention took it"), nil
	}
	if was, changed := st.own.before[keyOf(l.ID)]; changed {
		return decision{already: true, overtaken: was == deadletters.Superseded}, nil
	}
	st.hear(l)
	do, why, err := c.stage(ctx, st, l)
	if err != nil || do == nil {
		return leave(why), err
	}
	return decision{staged: *do, overtaken: do.prev.Status == deadletters.Superseded}, nil
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
