package replay

import (
	"context"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

const (
	chunkLetters = 128     // handed over at once by who reads
	chunkBytes   = 1 << 20 // of their values and headers; a larger letter is handed over alone
	chunksAhead  = 8       // are read while nobody takes them, so that an answer of the broker keeps nobody waiting
)

// reader calls a function for each letter of a pass, in order.
type reader func(ctx context.Context, fn func(spotted) error) error

// walk gives letters one by one, while a goroutine reads a few letters ahead.
type walk struct {
	read  chan []spotted
	chunk []spotted // read, and not given yet
	err   error     // why reading ended; to be looked at once read is closed
	stop  func()    // ends the reading
}

// spotted is a chosen letter with its record; the letter is nil when the record is gone.
type spotted struct {
	plan   *plan.Letter // what the plan says of it; nil without a plan
	letter *deadletters.Letter
	lost   string // why the original of a letter that lies elsewhere cannot be had
}

func (s *spotted) size() int {
	if s.letter == nil {
		return 0
	}
	return s.letter.Held()
}

// id returns the letter's id; "" when nothing but its place is known.
func (s *spotted) id() string {
	switch {
	case s.plan != nil:
		return s.plan.ID
	case s.letter != nil:
		return s.letter.ID
	}
	return ""
}

// startWalk begins to read. Stop it.
func startWalk(ctx context.Context, read reader) *walk {
	ctx, cancel := context.WithCancel(ctx)
	w := &walk{read: make(chan []spotted, chunksAhead)}
	w.stop = func() {
		cancel()
		for range w.read { // until the reader has seen it
		}
	}
	go func() {
		defer close(w.read)
		w.err = w.hand(ctx, read)
	}()
	return w
}

// hand hands over what is read, chunk by chunk.
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

// next returns the next letter; more is false behind the last.
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

// back puts the letter back that next gave last: it comes again.
func (w *walk) back(l spotted) { w.chunk = append([]spotted{l}, w.chunk...) }
