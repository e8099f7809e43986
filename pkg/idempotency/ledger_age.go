package idempotency

// sweep removes a few keys that have left the window. The oldest are first in the list as long as times were noted in
// order. A time noted out of order (by a clock that was ahead) could stand before them for a long time, so sweep also
// visits all places in turn, one per call: about two rounds find everything that has expired.
func (l *Ledger) sweep() {
	for range sweepSteps {
		if l.oldest == none || !l.expired(l.oldest) {
			break
		}
		l.remove(l.oldest)
	}
	if l.hand >= l.entries.n {
		l.hand = 0
	}
	if l.entries.n == 0 {
		return
	}
	if at := place(l.hand); l.expired(at) {
		l.remove(at)
	} else {
		l.hand++
	}
}

func (l *Ledger) expired(at uint32) bool { return int64(l.entries.at(at).at) < l.cutoff }

// remove forgets the key at a place. The last entry moves there, so that the entries have no holes and their memory can
// be freed.
func (l *Ledger) remove(at uint32) {
	l.erase(at)
	l.unlink(at)
	l.join()
	last := place(l.entries.n - 1)
	moved, free := *l.entries.at(last), l.entries.at(at)
	l.entries.pop()
	if at == last {
		return
	}
	moved.head = free.head // the bucket stays where it is
	*free = moved
	l.relink(at, free)
	*l.reference(&moved.key, last) = at
}

// link puts the entry at the new end of the list.
func (l *Ledger) link(at uint32, e *entry) {
	e.older, e.newer = l.newest, none
	l.newest = at
	if e.older == none {
		l.oldest = at
		return
	}
	l.entries.at(e.older).newer = at
}

// unlink removes the entry at a place from the list.
func (l *Ledger) unlink(at uint32) {
	e := l.entries.at(at)
	if e.older == none {
		l.oldest = e.newer
	} else {
		l.entries.at(e.older).newer = e.newer
	}
	if e.newer == none {
		l.newest = e.older
	} else {
		l.entries.at(e.newer).older = e.older
	}
}

// relink updates the neighbours of an entry that moved to a place.
func (l *Ledger) relink(at uint32, e *entry) {
	if e.older == none {
		l.oldest = at
	} else {
		l.entries.at(e.older).newer = at
	}
	if e.newer == none {
		l.newest = at
	} else {
		l.entries.at(e.newer).older = at
	}
}
