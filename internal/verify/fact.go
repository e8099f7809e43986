package verify

import "math"

// fact is what the topics tell about one source position. Counts stay at their largest value.
type fact struct {
	flags    flag
	outputs  uint8 // records of the output; all parts of a split record count as one
	letters  uint8 // dead letters, without the records of an edit
	closed   uint8 // events of the trail that close it
	died     uint8 // events of the trail with its death
	replayed uint8 // events of the trail with its replay
	last     uint8 // the last decision that closed it, see closings
	_        uint8
}

// flag is a set of properties of a position.
type flag uint8

const (
	present flag = 1 << iota // the source holds a record there
	replay                   // it is a replay of another one
	split                    // some of its records are of parts
	rest                     // some of its parts ended before others
	tried                    // the trail has a failed attempt, so it must have the end too
	told                     // the trail has its delivery
	others                   // records of another pipeline ID name it
	unread                   // the source's record cannot be read
)

func (f *fact) has(m flag) bool { return f.flags&m != 0 }

func more(n *uint8) {
	if *n < math.MaxUint8 {
		*n++
	}
}

// pageSize is the number of positions in a page.
const pageSize = 512

type page [pageSize]fact

// pages holds facts by offset. The zero value is empty.
type pages struct {
	byNumber map[int64]*page
	last     *page
	number   int64
}

// at returns the fact of an offset from 0, and allocates its page.
func (p *pages) at(offset int64) *fact {
	number := offset / pageSize
	if p.last == nil || p.number != number {
		if p.byNumber == nil {
			p.byNumber = map[int64]*page{}
		}
		if p.byNumber[number] == nil {
			p.byNumber[number] = new(page)
		}
		p.last, p.number = p.byNumber[number], number
	}
	return &p.last[offset%pageSize]
}

// known returns the fact of an offset, or nothing if its page is not allocated.
func (p *pages) known(offset int64) fact {
	if at := p.byNumber[offset/pageSize]; at != nil {
		return at[offset%pageSize]
	}
	return fact{}
}
