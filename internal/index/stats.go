package index

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// DayCount is how many letters of one day, code and pipeline are pending.
type DayCount struct {
	Day      string `json:"day"` // 2006-01-02, UTC
	Code     string `json:"code"`
	Pipeline string `json:"pipeline"`
	Letters  int    `json:"letters"`
}

// Stats counts the letters of a DLQ.
type Stats struct {
	Letters  int                        // that the topic has
	Statuses map[deadletters.Status]int // of those; the unreadable are under ""
	Pending  []DayCount                 // the newest day first, then the most
	Lost     int                        // pending letters that retention took: features that nobody looked after
	Oldest   *deadletters.Letter        // the pending letter whose first death was the earliest; nil when none is pending
	Earliest time.Time                  // of the records of pending letters in the DLQ: the time of the oldest; zero when none is pending
}

// Stats goes through the blocks once.
func (d *DLQ) Stats(ctx context.Context) (Stats, error) {
	var out Stats
	err := d.store.reading(ctx, func(t *tx) error {
		n := census{pending: map[daily]*int{}}
		err := d.scan(t, &chooser{both: true, since: math.MinInt64, until: math.MaxInt64}, nil, n.add)
		if err != nil {
			return err
		}
		out, err = d.stats(t, &n)
		return err
	})
	return out, wrapped("count the dead letters of "+d.topic, err)
}

// daily is what pending letters are counted by.
type daily struct {
	day             int64 // since 1970
	group, pipeline uint32
}

// census counts all letters.
type census struct {
	letters, lost int
	statuses      [maxStatuses]int // of the letters that are there, by their numbers in marks
	pending       map[daily]*int
	last          []counter // of each group, since letters of one day follow each other
	oldest        death     // the first one of a pending letter
	earliest      int64     // last death of a pending letter
	waiting       bool      // there is one
}

// counter is what letters were counted by, and their number.
type counter struct {
	of      daily
	letters *int
}

const dayMilliseconds = 24 * 60 * 60 * 1000

func (n *census) add(some []candidate) error {
	pending := numberOf(deadletters.Pending)
	for i := range some {
		c := &some[i]
		switch {
		case !c.gone():
			n.letters++
			n.statuses[c.mark[0]]++
			if c.mark[0] == pending {
				n.wait(c)
			}
		case c.mark[0] == pending:
			n.lost++
		}
	}
	return nil
}

// wait counts a pending letter.
func (n *census) wait(c *candidate) {
	n.last = grown(n.last, c.group)
	last, of := &n.last[c.group], daily{floorDiv(c.at, dayMilliseconds), c.group, c.pipeline}
	if last.letters == nil || last.of != of {
		if n.pending[of] == nil {
			n.pending[of] = new(int)
		}
		*last = counter{of, n.pending[of]}
	}
	*last.letters++
	if died := (death{c.firstAt(), c.place}); !n.waiting || died.compare(n.oldest) < 0 {
		n.oldest = died
	}
	if !n.waiting || c.at < n.earliest {
		n.earliest = c.at
	}
	n.waiting = true
}

// floorDiv rounds down, before 1970 too.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// stats puts what was counted into words.
func (d *DLQ) stats(t *tx, n *census) (Stats, error) {
	out := Stats{Letters: n.letters, Lost: n.lost, Statuses: statusesOf(n.statuses[:])}
	causes, err := d.causes(t)
	if err != nil {
		return out, err
	}
	pipelines, err := t.texts(d.number, pipelineName)
	if err != nil {
		return out, err
	}
	byCode := map[DayCount]int{}
	for of, letters := range n.pending {
		day := time.Unix(of.day*dayMilliseconds/1000, 0).UTC().Format(time.DateOnly)
		byCode[DayCount{Day: day, Code: causes[of.group].Code, Pipeline: pipelines[of.pipeline]}] += *letters
	}
	for of, letters := range byCode {
		of.Letters = letters
		out.Pending = append(out.Pending, of)
	}
	slices.SortFunc(out.Pending, func(a, b DayCount) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(b.Letters, a.Letters), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Pipeline, b.Pipeline))
	})
	if !n.waiting {
		return out, nil
	}
	out.Earliest = time.UnixMilli(n.earliest).UTC()
	letters, err := d.page(t, Query{}, []place{n.oldest.place})
	if err == nil && len(letters) == 1 {
		out.Oldest = &letters[0]
	}
	return out, err
}
