package dlqindex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// maxPage is how many letters a page has at most.
const maxPage = 2000

// ErrCursor marks a text that is no cursor. Match it with errors.Is.
var ErrCursor = errors.New("this is no cursor of a page of dead letters")

// Cursor is the place in an order behind which a page begins. Letters that arrive meanwhile do not move it.
type Cursor struct {
	died      int64 // in milliseconds since 1970
	partition int32
	offset    int64
}

func (c Cursor) at() time.Time { return time.UnixMilli(c.died) }

// String returns the cursor as text that [ParseCursor] reads.
func (c Cursor) String() string { return fmt.Sprintf("%d.%d.%d", c.died, c.partition, c.offset) }

// ParseCursor reads a cursor. The error is [ErrCursor].
func ParseCursor(text string) (Cursor, error) {
	var c Cursor
	if _, err := fmt.Sscanf(text, "%d.%d.%d", &c.died, &c.partition, &c.offset); err != nil || c.String() != text {
		return Cursor{}, fmt.Errorf("%w: %q", ErrCursor, text)
	}
	return c, nil
}

// Page is some letters of a query.
type Page struct {
	Letters []deadletters.Letter       // without content
	Total   int                        // letters that the query selects; counted with the first page only, else 0
	ByState map[deadletters.Status]int // of the total; nil if that is not counted. The unreadable are under ""
	Next    *Cursor                    // of the next page; nil if this is the last one
}

// Page returns the letters of a query that follow a cursor, in the order of the query: at most q.Limit, and at most 2000.
// The first page has the cursor nil.
func (d *DLQ) Page(ctx context.Context, q Query, after *Cursor) (Page, error) {
	if q.Limit <= 0 || q.Limit > maxPage {
		q.Limit = maxPage
	}
	var page Page
	err := d.store.reading(ctx, func(t *tx) (err error) {
		ahead := q
		ahead.Limit++ // tells whether there is a next page
		ids, err := d.choose(t, ahead, after)
		if err != nil {
			return err
		}
		more := len(ids) > q.Limit
		if more {
			ids = ids[:q.Limit]
		}
		if page.Letters, err = d.read(t, ids); err != nil {
			return err
		}
		if after == nil && more {
			page.ByState, err = d.byState(t, q)
		} else if after == nil {
			page.ByState = map[deadletters.Status]int{}
			for i := range page.Letters {
				page.ByState[page.Letters[i].Status]++
			}
		}
		if !more || err != nil {
			return err
		}
		last := &page.Letters[q.Limit-1]
		page.Next = &Cursor{last.At.UnixMilli(), last.DLQ.Partition, last.DLQ.Offset}
		return nil
	})
	for _, n := range page.ByState {
		page.Total += n
	}
	return page, wrapped("select dead letters of "+d.topic, err)
}
