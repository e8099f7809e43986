package replay

import (
	"context"
	"errors"
	"iter"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// walk gives the letters of a plan one by one, each with what lies in the DLQ where the plan says.
type walk struct {
	letters func() (*plan.Letter, error)      // nil after the last
	records func() (*kgo.Record, error, bool) // of the DLQ, in the same order
	stop    func()                            // gives both up
	record  *kgo.Record                       // the first that no letter has passed yet; nil before and after all
	over    bool                              // no record is left
	put     *spotted                          // was put back, comes again
}

// spotted is a letter of the plan and its record; the letter is nil when the record is gone.
type spotted struct {
	plan   *plan.Letter
	letter *deadletters.Letter
}

// walk starts behind the letters that are settled. Stop it.
func (j *job) walk(ctx context.Context) (*walk, error) {
	letters, closePlan, err := j.plan.Walk()
	if err != nil {
		return nil, err
	}
	for range j.settled {
		if _, err := letters(); err != nil {
			closePlan()
			return nil, err
		}
	}
	records, endScan := iter.Pull2(j.service.dead(ctx, j.plan.Spans))
	return &walk{letters: letters, records: records, stop: func() { endScan(); closePlan() }}, nil
}

// dead gives the records of the DLQ in the given spans, in order. An error is the last that it gives.
func (s *Service) dead(ctx context.Context, spans map[int32]deadletters.Span) iter.Seq2[*kgo.Record, error] {
	enough := errors.New("enough")
	return func(yield func(*kgo.Record, error) bool) {
		err := deadletters.Scan(ctx, s.client, s.cfg.Topics.DLQ, spans, func(r *kgo.Record) error {
			if !yield(r, nil) {
				return enough
			}
			return nil
		})
		if err != nil && !errors.Is(err, enough) {
			yield(nil, err)
		}
	}
}

// next is the next letter; its plan is nil after the last.
func (w *walk) next() (spotted, error) {
	if w.put != nil {
		again := *w.put
		w.put = nil
		return again, nil
	}
	p, err := w.letters()
	if err != nil || p == nil {
		return spotted{}, err
	}
	r, err := w.at(p)
	if err != nil || r == nil {
		return spotted{plan: p}, err
	}
	letter := deadletters.Decode(r, true)
	return spotted{plan: p, letter: &letter}, nil
}

// back puts a letter back: it comes next again.
func (w *walk) back(l spotted) { w.put = &l }

// at is the record that lies where the plan says; nil when there is none.
func (w *walk) at(p *plan.Letter) (*kgo.Record, error) {
	for {
		if w.record == nil && !w.over {
			r, err, ok := w.records()
			if err != nil {
				return nil, err
			}
			w.record, w.over = r, !ok
		}
		switch r := w.record; {
		case r == nil:
			return nil, nil
		case r.Partition < p.Partition || r.Partition == p.Partition && r.Offset < p.Offset:
			w.record = nil
		case r.Partition == p.Partition && r.Offset == p.Offset:
			w.record = nil
			return r, nil
		default:
			return nil, nil
		}
	}
}
