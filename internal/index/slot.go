package index

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// place is where the record of a letter lies that counts: its partition of the DLQ and its offset.
type place struct {
	partition int32
	offset    int64
}

// slot is what a block has of a letter that does not change as long as its record counts.
type slot struct {
	at                         int64 // of its death, in milliseconds since 1970
	size, group, pipeline, run uint32
	since                      uint32 // seconds from its first death to this one, rounded down
}

const slotBytes = 8 + 5*4

// firstAt is when the letter first died, in milliseconds since 1970, at most a second too late.
func (s slot) firstAt() int64 { return s.at - int64(s.since)*1000 }

// between gives the seconds between two deaths.
func between(first, last int64) uint32 { return uint32(min(max(last-first, 0)/1000, math.MaxUint32)) }

func (s slot) write(to []byte) {
	binary.LittleEndian.PutUint64(to, uint64(s.at))
	for i, n := range []uint32{s.size, s.group, s.pipeline, s.run, s.since} {
		binary.LittleEndian.PutUint32(to[8+4*i:], n)
	}
}

func readSlot(from []byte) slot {
	from = from[:slotBytes:slotBytes] // one check of bounds for all
	return slot{
		at: int64(binary.LittleEndian.Uint64(from)), size: binary.LittleEndian.Uint32(from[8:]), group: binary.LittleEndian.Uint32(from[12:]),
		pipeline: binary.LittleEndian.Uint32(from[16:]), run: binary.LittleEndian.Uint32(from[20:]),
		since: binary.LittleEndian.Uint32(from[24:]),
	}
}

// mark is what a block has of a letter that its state changes: a status, and flags. The zero mark
// is that of an offset at which no letter lies.
type mark [markBytes]byte

const (
	markBytes    = 2
	goneFlag     = 1
	replayedFlag = 2
)

// markStatuses lists the statuses in the order of their numbers in a mark, from 1. Another order
// is another version of the tables.
func markStatuses() []deadletters.Status {
	return append([]deadletters.Status{unreadable}, deadletters.Statuses()...)
}

// maxStatuses is more than the largest number of a status in a mark.
const maxStatuses = 16

// numberOf is a status as a mark has it.
func numberOf(s deadletters.Status) byte { return byte(slices.Index(markStatuses(), s) + 1) }

func markOf(status deadletters.Status, gone, replayed bool) mark {
	m := mark{numberOf(status)}
	if gone {
		m[1] |= goneFlag
	}
	if replayed {
		m[1] |= replayedFlag
	}
	return m
}

func (m mark) empty() bool    { return m[0] == 0 }
func (m mark) gone() bool     { return m[1]&goneFlag != 0 }
func (m mark) replayed() bool { return m[1]&replayedFlag != 0 }

const boxBytes = 4 * 8

// writeBox writes the bounding box of a feature; nil is none.
func writeBox(b *deadletters.BBox, to []byte) {
	edges := [4]float64{math.NaN()}
	if b != nil {
		edges = [4]float64{b.West, b.South, b.East, b.North}
	}
	for i, edge := range edges {
		binary.LittleEndian.PutUint64(to[8*i:], math.Float64bits(edge))
	}
}

func readBox(from []byte) (b deadletters.BBox, ok bool) {
	from = from[:boxBytes:boxBytes] // one check of bounds for all
	b = deadletters.BBox{
		West: math.Float64frombits(binary.LittleEndian.Uint64(from)), South: math.Float64frombits(binary.LittleEndian.Uint64(from[8:])),
		East: math.Float64frombits(binary.LittleEndian.Uint64(from[16:])), North: math.Float64frombits(binary.LittleEndian.Uint64(from[24:])),
	}
	return b, !math.IsNaN(b.West)
}
