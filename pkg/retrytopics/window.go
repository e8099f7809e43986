package retrytopics

import "slices"

// window follows the offsets of one partition from the first unfinished one on: which were taken from the broker, which
// of them are finished. Its position is what a commit may say; what is finished beyond goes into the commit's metadata.
// "Contiguous" means contiguous over the offsets that the broker handed out: offsets that hold no record (transaction
// markers of others, compacted ones) are no gaps.
type window struct {
	next     int64    // the commit position while nothing is taken; -1 before the first record when nothing was committed
	offsets  []offset // from the first unfinished one on, ascending
	restored []span   // finished by a former owner, not taken again yet
	passed   int64    // the offset after the last one that held no record
	compact  int      // compact when taken grows beyond this
	guess    int      // in taken: what probably finishes next
}

// offset is one taken offset, or a run of finished ones.
type offset struct {
	first, last int64
	done        bool
}

const compactAt = 4096

func newWindow(next int64, restored []span) *window {
	return &window{next: next, restored: restored, compact: compactAt}
}

// add notes that the record at offset at came from the broker and says whether it still has to be done. Offsets must come
// in ascending order.
func (w *window) add(at int64) (fresh bool) {
	for len(w.restored) > 0 && w.restored[0].last < at {
		w.restored = w.restored[1:]
	}
	done := len(w.restored) > 0 && w.restored[0].first <= at
	w.offsets = append(w.offsets, offset{at, at, done})
	w.advance()
	return !done
}

// expects says whether at lies beyond every offset taken or committed before, as it must.
func (w *window) expects(at int64) bool {
	return at >= w.end()
}

// finish marks the record at offset at as finished.
func (w *window) finish(at int64) {
	i, found := w.guess, true
	if i >= len(w.offsets) || w.offsets[i].first != at {
		i, found = w.find(at)
	}
	if !found {
		return
	}
	w.offsets[i].done = true
	w.guess = i + 1
	w.advance()
}

func (w *window) find(at int64) (int, bool) {
	return slices.BinarySearchFunc(w.offsets, at, func(o offset, at int64) int {
		switch {
		case o.last < at:
			return -1
		case o.first > at:
			return 1
		}
		return 0
	})
}

// runBytes is what one run costs in the metadata at the most: seven bytes of varints, in base64, while the window spans
// less than 2^28 offsets. What a partition may hold keeps it far below.
const runBytes = 10

// maxAhead gives how many unfinished records there may be among the started ones of a partition, so that what is finished
// beyond the position fits into metadata of the given size.
func maxAhead(metadata int) int64 { return max(int64((metadata-len(aheadPrefix))/runBytes-1), 1) }

// pass notes that the broker sent an offset that holds no record of ours: a transaction's marker.
func (w *window) pass(at int64) {
	w.passed = at + 1
	w.advance()
}

// end gives the offset after the last one that came from the broker, or the committed one.
func (w *window) end() int64 {
	if n := len(w.offsets); n > 0 {
		return max(w.offsets[n-1].last+1, w.passed)
	}
	return w.next
}

func (w *window) advance() {
	n := 0
	for n < len(w.offsets) && w.offsets[n].done {
		w.next = w.offsets[n].last + 1
		n++
	}
	w.offsets = w.offsets[n:]
	w.guess = max(w.guess-n, 0)
	if len(w.offsets) > 0 {
		w.next = w.offsets[0].first
	} else {
		w.next = max(w.next, w.passed)
	}
	if len(w.offsets) > w.compact {
		w.merge()
	}
}

// merge joins neighbouring finished offsets, so that memory follows the unfinished ones. It is amortised: it runs again
// only when the list has doubled.
func (w *window) merge() {
	out := make([]offset, 0, len(w.offsets)/2)
	for _, o := range w.offsets {
		if n := len(out); n > 0 && o.done && out[n-1].done {
			out[n-1].last = o.last
			continue
		}
		out = append(out, o)
	}
	w.offsets = out
	w.compact = max(compactAt, 2*len(out))
}

// ahead lists what is finished beyond the position, restored runs included.
func (w *window) ahead() []span {
	var spans []span
	add := func(first, last int64) {
		if n := len(spans); n > 0 && spans[n-1].last+1 >= first {
			spans[n-1].last = max(spans[n-1].last, last)
			return
		}
		spans = append(spans, span{first, last})
	}
	joined := false // the entry before was finished too, so the offsets between hold no record
	for _, o := range w.offsets {
		if o.done && joined {
			spans[len(spans)-1].last = o.last
		} else if o.done {
			add(o.first, o.last)
		}
		joined = o.done
	}
	for _, s := range w.restored {
		if s.last >= w.next {
			add(max(s.first, w.next), s.last)
		}
	}
	return spans
}

// commitPoint is a commit: the position and the metadata that go to the broker.
type commitPoint struct {
	offset   int64 // -1: nothing to commit
	metadata string
}

func (w *window) commitPoint() commitPoint {
	if w.next < 0 {
		return commitPoint{offset: -1}
	}
	return commitPoint{w.next, encodeAhead(w.next, w.ahead())}
}
