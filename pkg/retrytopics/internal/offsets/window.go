package offsets

import (
	"iter"
	"slices"
)

// Window tracks which offsets of one partition were fetched, and which of them are finished, from the first
// unfinished one on. Its position is what may be committed; finished offsets beyond it go into the commit's metadata.
// Offsets without a record (transaction markers, compacted records) separate no runs and do not delay the position.
type Window struct {
	next     int64   // the commit position while nothing was fetched; -1 before the first record if nothing was committed
	taken    []taken // from the first unfinished one on, ascending
	restored []Span  // finished by a former owner, not fetched again yet
	passed   int64   // the offset after the last one without a record
	compact  int     // merge when taken grows beyond this
	guess    int     // index in taken of the offset that probably finishes next
}

// taken is one fetched offset, or a run of finished ones.
type taken struct {
	Span
	done bool
}

const compactAt = 4096

// NewWindow returns the window of a partition that starts at offset next, or at -1 if nothing was committed. restored
// are the offsets beyond it that a former owner has finished.
func NewWindow(next int64, restored []Span) *Window {
	return &Window{next: next, restored: restored, compact: compactAt}
}

// Clone returns a window that shares nothing with w.
func (w *Window) Clone() *Window {
	c := *w
	c.taken, c.restored = slices.Clone(w.taken), slices.Clone(w.restored)
	return &c
}

// Add adds the record at an offset, and reports whether it must still be processed. Offsets must come in ascending
// order.
func (w *Window) Add(at int64) (fresh bool) {
	for len(w.restored) > 0 && w.restored[0].Last < at {
		w.restored = w.restored[1:]
	}
	done := len(w.restored) > 0 && w.restored[0].First <= at
	w.taken = append(w.taken, taken{Span{at, at}, done})
	w.advance()
	return !done
}

// Taken lists the fetched offsets from the position on, and whether they are finished. Finished offsets may be joined to
// runs.
func (w *Window) Taken() iter.Seq2[Span, bool] {
	return func(yield func(Span, bool) bool) {
		for _, o := range w.taken {
			if !yield(o.Span, o.done) {
				return
			}
		}
	}
}

// Expects reports whether at lies beyond every offset fetched or committed before. Every next offset must.
func (w *Window) Expects(at int64) bool {
	return at >= w.End()
}

// Finish marks the record at an offset as finished.
func (w *Window) Finish(at int64) {
	i, found := w.guess, true
	if i >= len(w.taken) || w.taken[i].First != at {
		i, found = w.find(at)
	}
	if !found {
		return
	}
	w.taken[i].done = true
	w.guess = i + 1
	w.advance()
}

func (w *Window) find(at int64) (int, bool) {
	return slices.BinarySearchFunc(w.taken, at, func(o taken, at int64) int {
		switch {
		case o.Last < at:
			return -1
		case o.First > at:
			return 1
		}
		return 0
	})
}

// Pass adds an offset without a record, such as a transaction marker.
func (w *Window) Pass(at int64) {
	w.passed = at + 1
	w.advance()
}

// Next returns the position: every record before it is finished. It is -1 if nothing was committed or fetched.
func (w *Window) Next() int64 { return w.next }

// End returns the offset after the last fetched one, or the committed one.
func (w *Window) End() int64 {
	if n := len(w.taken); n > 0 {
		return max(w.taken[n-1].Last+1, w.passed)
	}
	return w.next
}

// Restored returns the offsets that a former owner has finished and the broker has not sent again yet. The caller
// must not change them.
func (w *Window) Restored() []Span { return w.restored }

// RestoredIn counts the offsets in [from, to) that a former owner has finished.
func (w *Window) RestoredIn(from, to int64) (n int64) {
	for _, s := range w.restored {
		n += max(0, min(s.Last+1, to)-max(s.First, from))
	}
	return n
}

func (w *Window) advance() {
	n := 0
	for n < len(w.taken) && w.taken[n].done {
		w.next = w.taken[n].Last + 1
		n++
	}
	w.taken = w.taken[n:]
	w.guess = max(w.guess-n, 0)
	if len(w.taken) > 0 {
		w.next = w.taken[0].First
	} else {
		w.next = max(w.next, w.passed)
	}
	if len(w.taken) > w.compact {
		w.merge()
	}
}

// merge joins neighbouring finished offsets, so that memory depends on the unfinished ones. It is amortized: it runs
// again only when the list has doubled.
func (w *Window) merge() {
	out := make([]taken, 0, len(w.taken)/2)
	for _, o := range w.taken {
		if n := len(out); n > 0 && o.done && out[n-1].done {
			out[n-1].Last = o.Last
			continue
		}
		out = append(out, o)
	}
	w.taken = out
	w.compact = max(compactAt, 2*len(out))
}

// Finished lists the finished offsets beyond the position, including those of former owners.
func (w *Window) Finished() []Span {
	var spans []Span
	add := func(first, last int64) {
		if n := len(spans); n > 0 && spans[n-1].Last+1 >= first {
			spans[n-1].Last = max(spans[n-1].Last, last)
			return
		}
		spans = append(spans, Span{first, last})
	}
	joined := false // the previous entry was finished too, so the offsets between have no record
	for _, o := range w.taken {
		if o.done && joined {
			spans[len(spans)-1].Last = o.Last
		} else if o.done {
			add(o.First, o.Last)
		}
		joined = o.done
	}
	for _, s := range w.restored {
		if s.Last >= w.next {
			add(max(s.First, w.next), s.Last)
		}
	}
	return spans
}

// Commit returns the position that may be committed now.
func (w *Window) Commit() Commit {
	if w.next < 0 {
		return Commit{Offset: -1}
	}
	return Commit{w.next, EncodeFinished(w.next, w.Finished())}
}
