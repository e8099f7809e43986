package replay

import (
	"context"
	"errors"
	"iter"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// reader calls a function for each dead letter in order. It returns an error of the function.
type reader func(ctx context.Context, fn func(candidate) error) error

// candidate is a chosen dead letter with its record. The letter is nil if the record is gone.
type candidate struct {
	plan   *plan.Line // line of the plan; nil without a plan
	letter *deadletters.Letter
	lost   string // why the original value, stored elsewhere, is not available
}

func (c *candidate) size() int {
	if c.letter == nil {
		return 0
	}
	return c.letter.Memory()
}

// id returns the ID of the dead letter; "" if only its position is known.
func (c *candidate) id() string {
	switch {
	case c.plan != nil:
		return c.plan.ID
	case c.letter != nil:
		return c.letter.ID
	}
	return ""
}

// walk returns the dead letters of a reader one by one.
type walk struct {
	pull  func() (candidate, error, bool)
	stop  func()
	again *candidate // next returns it again; nil for most
	err   error      // of the reader
}

// errStopped ends a reader when no further dead letters are needed.
var errStopped = errors.New("no further dead letter is wanted")

// startWalk starts reading. The caller must call stop.
func startWalk(ctx context.Context, read reader) *walk {
	w := new(walk)
	w.pull, w.stop = iter.Pull2(func(yield func(candidate, error) bool) {
		err := read(ctx, func(c candidate) error {
			if !yield(c, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(candidate{}, err)
		}
	})
	return w
}

// next returns the next dead letter; more is false after the last. After an error it returns the same error.
func (w *walk) next() (c candidate, more bool, err error) {
	if w.again != nil {
		c, w.again = *w.again, nil
		return c, true, nil
	}
	if w.err == nil {
		c, w.err, more = w.pull()
	}
	return c, more, w.err
}

// back returns a dead letter to the walk, so that next returns it again.
func (w *walk) back(c candidate) { w.again = &c }
