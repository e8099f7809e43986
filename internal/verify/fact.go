package verify

import (
	"math"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// fact is the evidence of the topics about one source position. Counts are saturating.
type fact struct {
	flags       flag
	outputs     uint8 // records of the output; all parts of a split record count as one
	deadLetters uint8 // dead letters, without the records of an edit
	closed      uint8 // events of the trail that close it
	died        uint8 // events of the trail with its death
	replayed    uint8 // events of the trail with its replay
	last        uint8 // the last decision that closed it, see closings
	// closedElsewhere means that the trail of another pipeline ID closed it.
	closedElsewhere bool
}

// flag is a set of properties of a position.
type flag uint8

const (
	present         flag = 1 << iota // the source has a record there
	replay                           // it is a replay of another one
	split                            // some of its records are of parts
	rest                             // some of its parts ended before others
	tried                            // the trail has a failed attempt, so it must have the end too
	deliveryAudited                  // the trail has its delivery
	others                           // records of another pipeline ID name it
	unread                           // the source's record cannot be read
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

// Spot is one partition of one topic.
type Spot struct {
	Topic     string
	Partition int32
}

// Mark is a cut's view of one partition of the source or a tier. Offset -1 of a commit: nothing is finished.
type Mark struct {
	Start, End int64              // of what was read; Start is the log start
	Before     retrytopics.Commit // read before End
	After      retrytopics.Commit // read after everything before End
}

// Cut is the moment for which an account is judged. Records that were finished before it have their results in the
// account. Records that were still unfinished after it have none. Between the two are records in flight.
type Cut struct {
	At    time.Time
	Marks map[Spot]Mark
	// Tiers are the topics with waiting records.
	Tiers []string
	// Consumed has the partitions that a group member has now; nil while the group is empty or rebalances.
	Consumed map[Spot]bool
	Members  int
	// Compacted are the topics that may have lost records in the middle.
	Compacted map[string]bool
	// Foreign means that the group's memory belongs to a topic that was deleted and re-created: no position can be
	// compared.
	Foreign bool
	// AtLeastOnce means that the pipeline may deliver again after a crash.
	AtLeastOnce bool
	// Output, DLQ and Audit are the topics with the ends of records.
	Output, DLQ, Audit string
}

// stage is the group's progress with one record.
type stage int

const (
	done   stage = iota // finished before the cut, so its results are in the account
	moving              // finished meanwhile
	open                // not finished
)

func (m Mark) stage(offset int64) stage {
	switch {
	case m.Before.Finished(offset):
		return done
	case m.After.Finished(offset):
		return moving
	}
	return open
}

// partitions returns the source's partition count.
func (c *Cut) partitions(source string) (n int32) {
	for spot := range c.Marks {
		if spot.Topic == source {
			n = max(n, spot.Partition+1)
		}
	}
	return n
}
