package idempotency

import "math/bits"

// The table finds an entry's place by its key: linear hashing with as many buckets as there are entries. A bucket is a
// chain of entries. Each entry holds the head of the bucket with the number of its place, so the table needs no memory
// of its own. A new entry splits one bucket in two, and a removed one joins two, so the table never grows or shrinks as
// a whole.

// bucketOf returns the bucket of a hash in a table of n buckets: its trailing bits, one fewer for a bucket that does not
// exist yet.
func bucketOf(h uint64, n int) uint32 {
	b := uint32(h & (1<<bits.Len32(place(n-1)) - 1))
	if b >= place(n) {
		return parentOf(b)
	}
	return b
}

// parentOf returns the bucket that a bucket is split from.
func parentOf(b uint32) uint32 { return b &^ (1 << (bits.Len32(b) - 1)) }

// head returns the first place of a bucket's chain.
func (l *Ledger) head(bucket uint32) *uint32 { return &l.entries.at(bucket).head }

// find returns the place of a key, or none.
func (l *Ledger) find(k *KeyHash) uint32 {
	if l.entries.n == 0 {
		return none
	}
	at := *l.head(bucketOf(l.hash(k), l.entries.n))
	for at != none && l.entries.at(at).key != *k {
		at = l.entries.at(at).next
	}
	return at
}

// insert adds the entry at a place to the chain of its key.
func (l *Ledger) insert(at uint32) {
	e := l.entries.at(at)
	head := l.head(bucketOf(l.hash(&e.key), l.entries.n))
	e.next, *head = *head, at
}

// reference returns what refers to a place in the chain of a key.
func (l *Ledger) reference(k *KeyHash, at uint32) *uint32 {
	r := l.head(bucketOf(l.hash(k), l.entries.n))
	for *r != at {
		r = &l.entries.at(*r).next
	}
	return r
}

// erase removes the entry at a place from the chain of its key.
func (l *Ledger) erase(at uint32) {
	e := l.entries.at(at)
	*l.reference(&e.key, at) = e.next
}

// split moves the keys of the last bucket, which was just added, there.
func (l *Ledger) split() {
	last := place(l.entries.n - 1)
	if last == 0 {
		return
	}
	for r := l.head(parentOf(last)); *r != none; {
		at := *r
		e := l.entries.at(at)
		if bucketOf(l.hash(&e.key), l.entries.n) != last {
			r = &e.next
			continue
		}
		*r = e.next
		e.next, *l.head(last) = *l.head(last), at
	}
}

// join adds the chain of the last bucket, which is about to be removed, to that of its parent.
func (l *Ledger) join() {
	last := place(l.entries.n - 1)
	if last == 0 {
		return
	}
	end := l.head(parentOf(last))
	for *end != none {
		end = &l.entries.at(*end).next
	}
	*end = *l.head(last)
}
