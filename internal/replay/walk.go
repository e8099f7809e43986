package replay

import (
	"context"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

const (
	chunkLetters = 128     // dead letters in one chunk
	chunkBytes   = 1 << 20 // values and headers in one chunk; a larger dead letter has a chunk of its own
	chunksAhead  = 8       // chunks that are read ahead, so that the caller does not wait for the broker
)

// reader calls a function for each dead letter in order.
type reader func(ctx context.Context, fn func(spotted) error) error

// walk returns dead letters one by one, while a goroutine reads ahead.
type walk struct {
	read  chan []spotted
	chunk []spotted // read and not returned yet
	err   error     // why reading ended; valid after read is closed
	stop  func()    // stops the goroutine
}

// spotted is a chosen dead letter with its record. The letter is nil if the record is gone.
type spotted struct {
	plan   *plan.Letter // line of the plan; nil without a plan
	letter *deadletters.Letter
	lost   string // why the original value, stored elsewhere, is not available
}

func (s *spotted) size() int {
	if s.letter == nil {
		return 0
	}
	return s.letter.Held()
}

// id returns the ID of the dead letter; "" if only its position is known.
func (s *spotted) id() string {
	switch {
	case s.plan != nil:
		return s.plan.ID
	case s.letter != nil:
		return s.letter.ID
	}
	return ""
}

// startWalk starts reading. The caller must call stop.
func startWalk(ctx context.Context, read reader) *walk {
	ctx, cancel := context.WithCancel(ctx)
	w := &walk{read: make(chan []spotted, chunksAhead)}
	w.stop = func() {
		cancel()
		for range w.read { // wait for the goroutine to end
		}
	}
	go func() {
		defer close(w.read)
		w.err = w.hand(ctx, read)
	}()
	return w
}

// hand sends the dead letters to the channel in chunks.
func (w *walk) hand(ctx context.Context, read reader) error {
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
	err := read(ctx, func(l spotted) error {
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

// next returns the next dead letter; more is false after the last.
func (w *walk) next() (l spotted, more bool, err error) {
	for len(w.chunk) == 0 {
		chunk, ok := <-w.read
		if !ok {
			return spotted{}, false, w.err
		}
		w.chunk = chunk
	}
	l = w.chunk[0]
	w.chunk[0], w.chunk = spotted{}, w.chunk[1:]
	return l, true, nil
}

// back returns a dead letter to the walk, so that next returns it again.
func (w *walk) back(l spotted) { w.chunk = append([]spotted{l}, w.chunk...) }
