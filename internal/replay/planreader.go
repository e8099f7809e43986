package replay

import (
	"context"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// rest reads the plan twice. A letter is closed as the duplicate of another one only when that one has been put back, and that may lie
// behind it.
func (r *replaying) rest() []reader {
	duplicates := r.plan.Summary().Duplicates
	first := r.letters - duplicates
	var out []reader
	if r.settled < first {
		out = append(out, r.reader(r.settled, func(l *plan.Letter) bool { return l.Do != plan.Duplicate }))
	}
	if duplicates > 0 {
		out = append(out, r.reader(max(0, r.settled-first), func(l *plan.Letter) bool { return l.Do == plan.Duplicate }))
	}
	return out
}

// reader reads some letters of the plan with their records, from behind those that are settled.
func (r *replaying) reader(settled int, some func(*plan.Letter) bool) reader {
	s := r.service
	return func(ctx context.Context, fn func(spotted) error) error {
		lines, closePlan, err := r.plan.Walk()
		if err != nil {
			return err
		}
		defer closePlan()
		lines = selected(lines, some)
		for range settled {
			if _, err := lines(); err != nil {
				return err
			}
		}
		var of spotted
		next := func() (dlqPlace, bool, error) {
			line, err := lines()
			if err != nil || line == nil {
				return dlqPlace{}, false, err
			}
			of = spotted{plan: line}
			return dlqPlace{line.Offset, line.Partition}, true, nil
		}
		return s.lettersAt(ctx, r.plan.Spans, next, func(l *deadletters.Letter) (err error) {
			of.letter = l
			if l != nil && of.plan.Do == plan.Reinject && s.unheld(l) == "" {
				if of.lost, err = deadletters.FetchOriginal(ctx, s.client, l, s.maxValue()); err != nil {
					return err
				}
			}
			return fn(of)
		})
	}
}

// selected returns some of the lines of a plan.
func selected(lines func() (*plan.Letter, error), some func(*plan.Letter) bool) func() (*plan.Letter, error) {
	return func() (*plan.Letter, error) {
		for {
			if l, err := lines(); err != nil || l == nil || some(l) {
				return l, err
			}
		}
	}
}
