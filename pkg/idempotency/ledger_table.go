package idempotency

import (
	"slices"
	"unsafe"
)

// The table finds an entry's place by its key: extendible hashing over segments of 4 KiB, each an open-addressing table
// of buckets. A full segment is split in two by the next bit of the hash, and two nearly empty ones are merged, so the
// table grows and shrinks by 4 KiB at a time and never as a whole.
const (
	bucketSlots    = 12
	segmentBuckets = 63
	// splitAt is the fill at which a segment is split, 92 % of its slots. Right
	// after all have been split, a key costs 4096/348 = 11.8 bytes.
	splitAt = 695
	// mergeAt is the fill at which two halves are merged. It bounds the cost of a key in a shrinking table, 2*4096/567 =
	// 14.4 bytes, and is far enough below splitAt that a merged segment is not split again soon.
	mergeAt = 567
)

// bucket is one cache line. A key whose bucket is full goes to the next one with room. over counts, for each bucket, the
// keys that passed it, so that a search knows where to stop and a removal leaves nothing behind.
type bucket struct {
	tags   [bucketSlots]uint8 // 0 marks a free slot
	over   uint16
	_      [2]byte
	places [bucketSlots]uint32
}

// segment has 64 buckets; its own figures take the place of the first one.
type segment struct {
	used    uint16 // keys
	depth   uint8  // leading bits of the hash that all its keys share
	_       [61]byte
	buckets [segmentBuckets]bucket
}

type table struct {
	directory []*segment // 1<<depth of them, by the leading bits of the hash
	depth     uint8
	segments  int
	deepest   int // segments whose depth is the directory's
}

func newTable() table {
	return table{directory: []*segment{{}}, segments: 1, deepest: 1}
}

// Three parts of a hash choose the segment (leading bits), the tag (the byte in
// the middle) and the bucket (trailing 32 bits).
func tagOf(h uint64) uint8 { return max(uint8(h>>32&0xff), 1) }

func bucketOf(h uint64) int { return int((h & 0xffffffff) * segmentBuckets >> 32) } //nolint:gosec // below segmentBuckets

func nextBucket(b int) int {
	if b++; b < segmentBuckets {
		return b
	}
	return 0
}

func (t *table) segmentOf(h uint64) *segment { return t.directory[h>>(64-t.depth)] }

// find returns the place of a key, or none.
func (t *table) find(h uint64, k *KeyHash, all *entries) uint32 {
	s, tag := t.segmentOf(h), tagOf(h)
	for b, left := bucketOf(h), segmentBuckets; left > 0; b, left = nextBucket(b), left-1 {
		line := &s.buckets[b]
		for i, seen := range line.tags {
			if seen == tag && all.at(line.places[i]).key == *k {
				return line.places[i]
			}
		}
		if line.over == 0 {
			break
		}
	}
	return none
}

// insert adds a key that is not in the table. The hash has a random seed, so a few splits separate the keys of a full
// segment.
func (t *table) insert(h uint64, at uint32, l *Ledger) {
	for t.segmentOf(h).used >= splitAt {
		t.split(h, l)
	}
	t.segmentOf(h).insert(h, at)
}

// erase removes a key that is in the table.
func (t *table) erase(h uint64, at uint32, l *Ledger) {
	t.segmentOf(h).erase(h, at)
	t.merge(h, l)
}

// move changes the place of a key that is in the table.
func (t *table) move(h uint64, from, to uint32) {
	line, i := t.segmentOf(h).locate(h, from, 0)
	line.places[i] = to
}

func (t *table) bytes() int {
	return t.segments*int(unsafe.Sizeof(segment{})) + cap(t.directory)*int(unsafe.Sizeof(&segment{}))
}

func (s *segment) insert(h uint64, at uint32) {
	for b := bucketOf(h); ; b = nextBucket(b) {
		line := &s.buckets[b]
		if i := slices.Index(line.tags[:], 0); i >= 0 {
			line.tags[i], line.places[i] = tagOf(h), at
			s.used++
			return
		}
		line.over++
	}
}

func (s *segment) erase(h uint64, at uint32) {
	line, i := s.locate(h, at, 1)
	line.tags[i] = 0
	s.used--
}

// locate returns the slot of the key at a place, and subtracts leaving from the count of every bucket that the key
// passed.
func (s *segment) locate(h uint64, at uint32, leaving uint16) (line *bucket, slot int) {
	tag := tagOf(h)
	for b := bucketOf(h); ; b = nextBucket(b) {
		line := &s.buckets[b]
		for i, seen := range line.tags {
			if seen == tag && line.places[i] == at {
				return line, i
			}
		}
		line.over -= leaving
	}
}

// split divides the segment of a hash in two. It reads the entry of each key: about 700 of them, a small part of a
// millisecond.
func (t *table) split(h uint64, l *Ledger) {
	low := t.segmentOf(h)
	if low.depth == t.depth {
		t.double()
	}
	low.depth++
	high := &segment{depth: low.depth}
	for b := range low.buckets {
		line := &low.buckets[b]
		for i, tag := range line.tags {
			if tag == 0 {
				continue
			}
			at := line.places[i]
			if own := l.hashAt(at); branch(own, low.depth) == 1 {
				low.erase(own, at)
				high.insert(own, at)
			}
		}
	}
	from, to := t.span(h, low.depth-1)
	t.point((from+to)/2, to, high)
	t.segments++
	if low.depth == t.depth {
		t.deepest += 2
	}
}

// merge joins the segment of a hash with its other half if both together are small enough.
func (t *table) merge(h uint64, l *Ledger) {
	for {
		s := t.segmentOf(h)
		if s.depth == 0 || s.used > mergeAt {
			return
		}
		from, to := t.span(h, s.depth-1)
		low, high := t.directory[from], t.directory[to-1]
		if low.depth != high.depth || low.used+high.used > mergeAt {
			return
		}
		high.each(func(at uint32) { low.insert(l.hashAt(at), at) })
		t.point((from+to)/2, to, low)
		t.segments--
		if low.depth == t.depth {
			t.deepest -= 2
		}
		low.depth--
		for t.deepest == 0 {
			t.halve()
		}
	}
}

// each calls visit with every place in the segment.
func (s *segment) each(visit func(at uint32)) {
	for b := range s.buckets {
		line := &s.buckets[b]
		for i, tag := range line.tags {
			if tag != 0 {
				visit(line.places[i])
			}
		}
	}
}

// branch returns the bit of the hash that distinguishes two segments of a depth.
func branch(h uint64, depth uint8) uint64 { return h >> (64 - depth) & 1 }

// span returns the part of the directory that a segment of a depth fills.
func (t *table) span(h uint64, depth uint8) (from, to int) {
	length := 1 << (t.depth - depth)
	from = int(h>>(64-t.depth)) &^ (length - 1) //nolint:gosec // a place in the directory
	return from, from + length
}

func (t *table) point(from, to int, s *segment) {
	for i := from; i < to; i++ {
		t.directory[i] = s
	}
}

// double makes the directory one bit deeper, eight bytes for each segment.
func (t *table) double() {
	wide := make([]*segment, 2*len(t.directory))
	for i, s := range t.directory {
		wide[2*i], wide[2*i+1] = s, s
	}
	t.directory, t.deepest = wide, 0
	t.depth++
}

// halve removes a bit from the directory that no segment needs any more.
func (t *table) halve() {
	narrow := make([]*segment, len(t.directory)/2)
	t.deepest, t.depth = 0, t.depth-1
	for i := range narrow {
		narrow[i] = t.directory[2*i]
		if narrow[i].depth == t.depth {
			t.deepest++
		}
	}
	t.directory = narrow
}
