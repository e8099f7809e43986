package idempotency

import (
	"math"
	"slices"
	"unsafe"
)

const (
	none      = math.MaxUint32           // the place of no entry
	maxPlaces = min(none-1, math.MaxInt) // as many as can be addressed and counted
)

// entry is one key of the ledger, 56 bytes without padding.
type entry struct {
	key          KeyHash
	at           uint32 // Unix second
	content      [8]byte
	version      int64
	offset       int64
	newer, older uint32 // neighbours in the order of notes
	next         uint32 // in the chain of the key's bucket
	head         uint32 // of the bucket with the number of this place
}

// chunkEntries is the number of entries that are allocated together: 8 KiB, of which the allocator wastes 16 bytes.
const chunkEntries = 146

type chunk [chunkEntries]entry

// entries stores the entries without holes, at the places 0 to n-1. It grows and shrinks by a chunk and never copies
// an entry.
type entries struct {
	chunks []*chunk
	n      int
}

// place is the position of the i-th entry.
func place(i int) uint32 { return uint32(i) } //nolint:gosec // NewLedger keeps the number of keys below none

func (s *entries) at(i uint32) *entry {
	return &s.chunks[i/chunkEntries][i%chunkEntries]
}

// push adds an entry and returns its place.
func (s *entries) push() uint32 {
	if s.n == len(s.chunks)*chunkEntries {
		s.chunks = append(s.chunks, new(chunk))
	}
	s.n++
	last := place(s.n - 1)
	s.at(last).head = none
	return last
}

// pop drops the last entry. It keeps one empty chunk, so that a number of keys that oscillates around a chunk's end does
// not allocate each time.
func (s *entries) pop() {
	s.n--
	used := (s.n + chunkEntries - 1) / chunkEntries
	if len(s.chunks) <= used+1 {
		return
	}
	s.chunks[len(s.chunks)-1] = nil
	s.chunks = s.chunks[:len(s.chunks)-1]
	if len(s.chunks) < cap(s.chunks)/4 {
		s.chunks = slices.Clone(s.chunks)
	}
}

func (s *entries) bytes() int {
	return len(s.chunks)*int(unsafe.Sizeof(chunk{})) + cap(s.chunks)*int(unsafe.Sizeof(&chunk{}))
}
