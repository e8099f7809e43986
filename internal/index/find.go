package index

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

// find calls fn with the letters that a query selects, some at a time, in the order of their
// partitions and offsets. The slice is used again. A limit is not its concern.
//
// Blocks say at once which letters a query selects, unless it asks for a text, a header or a
// feature: then the rows are asked of which the blocks cannot say that they have none.
func (d *DLQ) find(t *tx, q Query, fn func([]candidate) error) error {
	if !q.asksRows() {
		return d.candidates(t, q, nil, fn)
	}
	return d.candidates(t, q, q.Looked, func(some []candidate) error {
		some, err := d.confirmed(t, q, some)
		if err != nil {
			return err
		}
		return fn(some)
	})
}

// candidates is find without asking rows.
func (d *DLQ) candidates(t *tx, q Query, looked func(done, total int), fn func([]candidate) error) error {
	c, err := d.chooser(t, q)
	if err != nil {
		return err
	}
	if len(q.IDs) > 0 {
		if c.only, err = d.named(t, q.IDs); err != nil {
			return err
		}
	}
	return d.scan(t, c, looked, fn)
}

// named finds where letters lie that are asked for by id.
func (d *DLQ) named(t *tx, ids []string) (map[place]bool, error) {
	out := map[place]bool{}
	err := chunked(unique(ids), func(some []string) error {
		c := &condition{engine: t.engine}
		c.add("dlq = ?", d.number)
		among(c, "id", some)
		return t.found("SELECT dlq_partition, dlq_offset FROM @dead_letter_queue"+c.text(), func(rows *sql.Rows) error {
			var at place
			err := rows.Scan(&at.partition, &at.offset)
			out[at] = true
			return err
		}, c.args...)
	})
	return out, err
}

// wideStretch is how many offsets without a candidate are rather read over than asked around.
const wideStretch = signatureLetters

// confirmed keeps the candidates whose rows are what the query asks for. It asks by stretches of
// offsets, since candidates lie close together where there are many.
func (d *DLQ) confirmed(t *tx, q Query, some []candidate) ([]candidate, error) {
	kept := some[:0]
	for len(some) > 0 {
		n := 1
		for n < len(some) && some[n].partition == some[0].partition && some[n].offset-some[n-1].offset <= wideStretch {
			n++
		}
		c := &condition{engine: t.engine}
		c.add("dlq = ? AND dlq_partition = ? AND dlq_offset BETWEEN ? AND ?", d.number, some[0].partition, some[0].offset, some[n-1].offset)
		q.rows(c)
		have := map[int64]bool{}
		err := t.found("SELECT dlq_offset FROM @dead_letter_queue"+c.text(), func(rows *sql.Rows) error {
			var offset int64
			err := rows.Scan(&offset)
			have[offset] = true
			return err
		}, c.args...)
		if err != nil {
			return nil, err
		}
		for _, one := range some[:n] {
			if have[one.offset] {
				kept = append(kept, one)
			}
		}
		some = some[n:]
	}
	return kept, nil
}

// reading runs fn in a transaction that sees the index as it is at one moment.
func (s *Store) reading(ctx context.Context, fn func(*tx) error) error {
	w, err := s.session(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	opened, err := w.conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: s.engine.snapshot()})
	if err != nil {
		return damage(s.place, err)
	}
	err = fn(&tx{ctx: ctx, sql: opened, session: w, engine: s.engine})
	return damage(s.place, errors.Join(err, ignoreDone(opened.Rollback())))
}

// snapshot is the isolation in which all queries of a transaction see the same rows.
func (e Engine) snapshot() sql.IsolationLevel {
	if e == PostgreSQL {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault // all that SQLite has
}

// rowsAt reads the rows of letters at some places, of those that a further condition selects, and
// calls fn for each, in no order.
func (d *DLQ) rowsAt(t *tx, q Query, columns string, places []place, fn func(*sql.Rows) error) error {
	byPartition := map[int32][]int64{}
	for _, at := range places {
		byPartition[at.partition] = append(byPartition[at.partition], at.offset)
	}
	for p, offsets := range byPartition {
		slices.Sort(offsets)
		err := chunked(offsets, func(some []int64) error {
			c := &condition{engine: t.engine}
			args := []any{d.number, p}
			for _, offset := range some {
				args = append(args, offset)
			}
			c.add("dlq = ? AND dlq_partition = ? AND dlq_offset IN "+placeholders(1, len(some)), args...)
			q.rows(c)
			return t.found("SELECT "+columns+" FROM @dead_letter_queue"+c.text(), fn, c.args...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
