package replay

import (
	"context"
	"iter"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// rest returns two readers of the plan: first the dead letters to put back, then the duplicates. A duplicate is
// closed only after the dead letter of the same content was put back, and that one may follow in the plan.
func (r *replaying) rest() []reader {
	duplicates := r.plan.Summary().Duplicates
	first := r.letters - duplicates
	var out []reader
	if r.settled < first {
		out = append(out, r.reader(r.settled, func(l *plan.Line) bool { return l.Do != plan.Duplicate }))
	}
	if duplicates > 0 {
		out = append(out, r.reader(max(0, r.settled-first), func(l *plan.Line) bool { return l.Do == plan.Duplicate }))
	}
	return out
}

// reader returns a reader of the selected lines of the plan with their records. It leaves out the first lines, which
// are settled.
func (r *replaying) reader(settled int, some func(*plan.Line) bool) reader {
	s := r.service
	return func(ctx context.Context, fn func(candidate) error) error {
		var of candidate
		places := func(yield func(deadletters.Place, error) bool) {
			for line, err := range r.unsettled(settled, some) {
				if err != nil {
					yield(deadletters.Place{}, err)
					return
				}
				of = candidate{plan: line}
				if !yield(deadletters.Place{Partition: line.Partition, Offset: line.Offset}, nil) {
					return
				}
			}
		}
		return s.readAt(ctx, r.plan.Spans, places, func(l *deadletters.Letter) (err error) {
			of.letter = l
			if l != nil && of.plan.Do == plan.Reinject && s.missingValue(l) == "" {
				if of.lost, err = deadletters.FetchOriginal(ctx, s.client, l, s.maxValue()); err != nil {
					return err
				}
			}
			return fn(of)
		})
	}
}

// unsettled yields the selected lines of the plan without the first ones, which are settled.
func (r *replaying) unsettled(settled int, some func(*plan.Line) bool) iter.Seq2[*plan.Line, error] {
	return func(yield func(*plan.Line, error) bool) {
		n := 0
		for line, err := range r.plan.All() {
			if err == nil && !some(line) {
				continue
			}
			if n++; (err != nil || n > settled) && !yield(line, err) {
				return
			}
		}
	}
}
