package replay

import (
	"context"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

const (
	chunkLetters = 128     // handed over at once by who reads
	chunkBytes   = 1 << 20 // of their values and headers; a larger letter is handed over alone
)

// walk gives the letters of a plan one by one, each with what lies in the DLQ where the plan says. Plan and DLQ are read
// beside, a few letters ahead.
type walk struct {
	read  chan []spotted
	chunk []spotted // read, and not given yet
	err   error     // why reading ended; to be looked at once read is closed
	stop  func()    // ends the reading
}

// spotted is a letter of the plan and its record; the letter is nil when the record is gone.
type spotted struct {
	plan   *plan.Letter
	letter *deadletters.Letter
	lost   string // why the original of a letter that lies elsewhere cannot be had
}

func (s *spotted) size() int {
	if s.letter == nil {
		return 0
	}
	return s.letter.Held()
}

// walk goes over the letters that pass selects, from behind those that are settled. Stop it.
func (j *job) walk(ctx context.Context, pass pass) (*walk, error) {
	lines, closePlan, err := j.plan.Walk()
	if err != nil {
		return nil, err
	}
	letters := func() (*plan.Letter, error) {
		for {
			if l, err := lines(); err != nil || l == nil || pass.of(l) {
				return l, err
			}
		}
	}
	for range j.settled - pass.before(j.plan) {
		if _, err := letters(); err != nil {
			closePlan()
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &walk{read: make(chan []spotted, 1)}
	w.stop = func() {
		cancel()
		for range w.read { // until the reader has seen it
		}
	}
	go func() {
		defer close(w.read)
		defer closePlan()
		w.err = w.hand(ctx, func(fn func(spotted) error) error { return j.pair(ctx, letters, fn) })
	}()
	return w, nil
}

// hand hands over what all gives, chunk by chunk.
func (w *walk) hand(ctx context.Context, all func(func(spotted) error) error) error {
	var chunk []spotted
	bytes := 0
	over := func() error {
		select {
		case w.read <- chunk:
			chunk, bytes = nil, 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := all(func(l spotted) error {
		chunk = append(chunk, l)
		if bytes += l.size(); len(chunk) < chunkLetters && bytes < chunkBytes {
			return nil
		}
		return over()
	})
	if err != nil {
		return err
	}
	return over()
}

// pair calls fn for each letter that is left of the plan with its record.
func (j *job) pair(ctx context.Context, letters func() (*plan.Letter, error), fn func(spotted) error) error {
	s := j.service
	var of spotted
	next := func() (dlqPlace, bool, error) {
		line, err := letters()
		if err != nil || line == nil {
			return dlqPlace{}, false, err
		}
		of = spotted{plan: line}
		return dlqPlace{line.Offset, line.Partition}, true, nil
	}
	return s.lettersAt(ctx, j.plan.Spans, next, func(l *deadletters.Letter) (err error) {
		of.letter = l
		if l != nil && of.plan.Do == plan.Reinject && s.unheld(l) == "" {
			if of.lost, err = deadletters.FetchOriginal(ctx, s.client, l, s.maxValue()); err != nil {
				return err
			}
		}
		return fn(of)
	})
}

// next is the next letter; its plan is nil after the last.
func (w *walk) next() (spotted, error) {
	for len(w.chunk) == 0 {
		chunk, ok := <-w.read
		if !ok {
			return spotted{}, w.err
		}
		w.chunk = chunk
	}
	l := w.chunk[0]
	w.chunk[0], w.chunk = spotted{}, w.chunk[1:]
	return l, nil
}

// back puts the letter back that next gave last: it comes again.
func (w *walk) back(l spotted) { w.chunk = append([]spotted{l}, w.chunk...) }
