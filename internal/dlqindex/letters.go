package dlqindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// ErrNotIndexed marks a DLQ that the index does not have. Match it with errors.Is.
var ErrNotIndexed = errors.New("this DLQ is not in the index yet; run: replayer index")

// ErrNoLetter marks an id that no letter has. Match it with errors.Is.
var ErrNoLetter = errors.New("no such dead letter")

// DLQ is one indexed DLQ.
type DLQ struct {
	database *database
	number   int64
	topic    string
}

// Letters calls fn for each selected letter in the order of the query, at most q.Limit of them. Letters have no content;
// of the control headers they have those that the table has. Letters returns an error of fn unchanged.
func (d *DLQ) Letters(ctx context.Context, q Query, fn func(deadletters.Letter) error) error {
	var refused error // by fn
	err := d.database.reading(ctx, func(t *tx) error {
		ids, err := d.choose(t, q, nil)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(ids, maxPage) {
			letters, err := d.read(t, some)
			if err != nil {
				return err
			}
			for _, l := range letters {
				if refused = fn(l); refused != nil {
					return refused
				}
			}
		}
		return nil
	})
	if refused != nil {
		return refused
	}
	return wrapped("select dead letters of "+d.topic, err)
}

// Count returns how many letters a query selects. A limit does not bound it.
func (d *DLQ) Count(ctx context.Context, q Query) (int, error) {
	return inSnapshot(ctx, d, "count", func(t *tx) (int, error) { return d.count(t, q) })
}

func (d *DLQ) count(t *tx, q Query) (n int, err error) {
	states, err := d.byState(t, q)
	for _, some := range states {
		n += some
	}
	return n, err
}

// ByState counts the letters that a query selects by their status; the unreadable are under "". A limit does not bound it.
func (d *DLQ) ByState(ctx context.Context, q Query) (map[deadletters.Status]int, error) {
	return inSnapshot(ctx, d, "count", func(t *tx) (map[deadletters.Status]int, error) { return d.byState(t, q) })
}

func (d *DLQ) byState(t *tx, q Query) (map[deadletters.Status]int, error) {
	stop := q.watch()
	defer stop()
	c, text := d.condition(q), "SELECT q.status, count(*) FROM "+t.readAll(q)+"%s GROUP BY q.status"
	if q.counted() {
		text = "SELECT q.status, CAST(sum(q.letters) AS BIGINT) FROM @dead_letter_count AS q%s GROUP BY q.status HAVING sum(q.letters) > 0"
	}
	out := map[deadletters.Status]int{}
	return out, t.found(fmt.Sprintf(text, c.where()), func(rows *sql.Rows) error {
		var status deadletters.Status
		var n int
		err := rows.Scan(&status, &n)
		out[readable(status)] = n
		return err
	}, c.args...)
}

// Trend counts the letters of a query that died last in each of several equally long parts of a time that begins at from.
func (d *DLQ) Trend(ctx context.Context, q Query, from time.Time, part time.Duration, parts int) ([]int, error) {
	return inSnapshot(ctx, d, "count", func(t *tx) ([]int, error) {
		out := make([]int, parts)
		at, c := "v.%s", d.condition(q)
		if t.engine == PostgreSQL {
			at = "CAST(v.%s AS TIMESTAMPTZ)"
		}
		var bounds []any
		for i := range parts {
			begin := from.Add(time.Duration(i) * part)
			bounds = append(bounds, strconv.Itoa(i), SQLite.bound(begin), SQLite.bound(begin.Add(part)))
		}
		return out, t.found("WITH v (part, low, high) AS (VALUES "+placeholders(parts, 3)+") SELECT CAST(v.part AS INTEGER), (SELECT count(*) FROM @dead_letter_queue AS q"+c.where()+
			" AND q.rejected_at >= "+fmt.Sprintf(at, "low")+" AND q.rejected_at < "+fmt.Sprintf(at, "high")+") FROM v", func(rows *sql.Rows) error {
			var i, n int
			err := rows.Scan(&i, &n)
			out[i] = n
			return err
		}, append(bounds, c.args...)...)
	})
}

// Places calls fn for each selected letter, in the order of the query and at most q.Limit of them, with its id and the position of its last
// record in the DLQ.
func (d *DLQ) Places(ctx context.Context, q Query, fn func(id string, partition int32, offset int64)) error {
	err := d.database.reading(ctx, func(t *tx) error {
		stop := q.watch()
		defer stop()
		text, args := d.selecting("q.id, q.dlq_partition, q.dlq_offset", q, nil)
		return t.found(text, func(rows *sql.Rows) error {
			var id string
			var partition int32
			var offset int64
			err := rows.Scan(&id, &partition, &offset)
			if err == nil {
				fn(id, partition, offset)
			}
			return err
		}, args...)
	})
	return wrapped("select dead letters of "+d.topic, err)
}

// choose returns the ids of the letters that a query selects behind a cursor, in its order, at most q.Limit.
func (d *DLQ) choose(t *tx, q Query, after *Cursor) (ids []string, err error) {
	stop := q.watch()
	defer stop()
	text, args := d.selecting("q.id", q, after)
	err = t.found(text, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, args...)
	return ids, err
}

// selecting returns the statement that selects columns of a query's letters behind a cursor, in its order, at most q.Limit.
func (d *DLQ) selecting(columns string, q Query, after *Cursor) (text string, args []any) {
	c := d.condition(q)
	direction, beyond := "", ">"
	if q.Newest {
		direction, beyond = " DESC", "<"
	}
	if after != nil {
		c.add("(q.rejected_at, q.dlq_partition, q.dlq_offset) "+beyond+" (?, ?, ?)", d.database.engine.time(after.at()), after.partition, after.offset)
	}
	text = "SELECT " + columns + " FROM @dead_letter_queue AS q" + c.where() +
		" ORDER BY q.rejected_at" + direction + ", q.dlq_partition" + direction + ", q.dlq_offset" + direction
	if q.Limit > 0 {
		text += fmt.Sprintf(" LIMIT %d", q.Limit)
	}
	return text, c.args
}

// read reads letters, in the order of their ids.
func (d *DLQ) read(t *tx, ids []string) ([]deadletters.Letter, error) {
	have, err := t.letters(d.number, d.topic, ids)
	out := make([]deadletters.Letter, 0, len(ids))
	for _, id := range ids {
		if l, ok := have[id]; ok {
			out = append(out, l)
		}
	}
	return out, err
}

// letters reads letters by their ids. Letters that the table does not have are missing.
func (t *tx) letters(dlq int64, topic string, ids []string) (map[string]deadletters.Letter, error) {
	cols := readColumns()
	out := make(map[string]deadletters.Letter, len(ids))
	err := chunked(ids, func(some []string) error {
		return t.found("SELECT "+names(cols)+" FROM @dead_letter_queue WHERE dlq = ? AND id IN "+placeholders(1, len(some)), func(rows *sql.Rows) error {
			var r row
			if err := rows.Scan(r.targets(cols)...); err != nil {
				return err
			}
			out[r.ID] = r.finish(topic)
			return nil
		}, append([]any{dlq}, arguments(some)...)...)
	})
	return out, err
}

// Letter returns one letter, gone or not, and its raw_record. The error is [ErrNoLetter] if no letter has the id.
func (d *DLQ) Letter(ctx context.Context, id string) (deadletters.Letter, string, error) {
	var r row
	cols := readColumns()
	err := d.database.row(ctx, "SELECT "+names(cols)+", raw_record FROM @dead_letter_queue WHERE id = ? AND dlq = ?",
		id, d.number).Scan(append(r.targets(cols), &r.raw)...)
	if errors.Is(err, sql.ErrNoRows) {
		return deadletters.Letter{}, "", fmt.Errorf("%w: %s in %s; replayer list shows the ids", ErrNoLetter, id, d.topic)
	}
	return r.finish(d.topic), r.raw, wrapped("read dead letter "+id, err)
}

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
	return inSnapshot(ctx, d, "select", func(t *tx) (page Page, err error) {
		ahead := q
		ahead.Limit++ // tells whether there is a next page
		ids, err := d.choose(t, ahead, after)
		if err != nil {
			return page, err
		}
		more := len(ids) > q.Limit
		if more {
			ids = ids[:q.Limit]
		}
		if page.Letters, err = d.read(t, ids); err != nil {
			return page, err
		}
		if after == nil && more {
			page.ByState, err = d.byState(t, q)
		} else if after == nil {
			page.ByState = map[deadletters.Status]int{}
			for i := range page.Letters {
				page.ByState[page.Letters[i].Status]++
			}
		}
		for _, n := range page.ByState {
			page.Total += n
		}
		if more {
			last := &page.Letters[q.Limit-1]
			page.Next = &Cursor{last.At.UnixMilli(), last.DLQ.Partition, last.DLQ.Offset}
		}
		return page, err
	})
}
