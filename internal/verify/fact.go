package verify

import "math"

// fact is what the topics say of one source position. Counts stay at their highest value.
type fact struct {
	flags    flag
	outputs  uint8 // records of the output; all parts of a split record are one
	letters  uint8 // dead letters, without the records of an edit
	closed   uint8 // events of the trail that close it
	died     uint8 // events of the trail that say it died
	replayed uint8 // events of the trail that say it was replayed
	last     uint8 // the last decision that closed it, see closings
	_        uint8
}

// flag is a set of marks of a position.
type flag uint8

const (
	present flag = 1 << iota // the source holds a record there
	replay                   // which is a replay of another one
	split                    // some of its records are of parts
	rest                     // some of its parts ended before others
	tried                    // the trail knows an attempt that failed, so its end stands in the trail too
	told                     // the trail says that it was delivered
	others                   // records of another pipeline id name it
	unread                   // the source's record cannot be read
)

func (f *fact) has(m flag) bool { return f.flags&m != 0 }

func more(n *uint8) {
	if *n < math.MaxUint8 {
		*n++
	}
}

// pageSize is how many positions a page has.
const pageSize = 512

type page [pageSize]fact

// pages holds facts by offset. The zero value is empty.
type pages struct {
	byNumber map[int64]*page
	last     *page
	number   int64
}

// at gives the fact of an offset from 0, and makes its page.
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

// known gives the fact of an offset, and none where nothing is known of its page.
func (p *pages) known(offset int64) fact {
	if at := p.byNumber[offset/pageSize]; at != nil {
		return at[offset%pageSize]
	}
	return fact{}
}
