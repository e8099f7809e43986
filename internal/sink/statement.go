package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// guardColumn is a column of the guard: its type as PostgreSQL writes it, and its constraint.
type guardColumn struct{ name, typ, constraint string }

// guardColumns lists the columns of the guard: the key, the version under which the last write of the key took
// effect, whether that was a delete, the offset of the newest delete, and the event. If the record key does not find
// the row, they also have the current row of the key (null for none) and its row before the last event.
func (t *table) guardColumns() []guardColumn {
	columns := []guardColumn{
		{"key", "text", "primary key"}, {"number", "bigint", "not null"}, {"source_offset", "bigint", "not null"}, {"deleted", "boolean", "not null"},
		{"delete_offset", "bigint", "not null"}, {"content_hash", "text", "not null"}, {"source", "text", "not null"},
		{"written_at", "timestamp with time zone", "not null"},
	}
	if t.claims {
		columns = append(columns, guardColumn{"row_key", "text", "unique"}, guardColumn{"former_key", "text", ""})
	}
	return columns
}

// upsert writes the guard and the features of a batch in the stage. It returns how many rows were not older than the
// guard's, and how many of these were deletes.
//
// Two instances that write one key wait for each other at the guard's row, and the second one compares with what the
// first has written. The statement locks the guard's rows in the order of their keys, so instances cannot deadlock. A
// delete is newer than every event with a lower offset, whatever version number the event has. If the last written
// event is repeated, it is written again: an attempt whose transaction was aborted may have received another answer
// from a remote step, and the output topic has the later one. A row that is identical byte by byte (*<>) is not
// updated: this avoids a dead row and triggers.
const upsert = `
with newer as (
	insert into {guard} as g ({guard columns}) select {guard values} from {stage} order by k
	on conflict (key) do update set number = excluded.number, source_offset = excluded.source_offset, deleted = excluded.deleted,
		delete_offset = greatest(g.delete_offset, excluded.delete_offset), content_hash = excluded.content_hash, source = excluded.source,
		written_at = excluded.written_at{claim}
	where excluded.source_offset > g.delete_offset
		and ((g.number, g.source_offset) <= (excluded.number, excluded.source_offset) or excluded.deleted and g.source_offset <= excluded.source_offset)
	returning g.key, g.deleted
), written as (
	insert into {table} as t ({columns}) select {values} from {stage} s join newer n on n.key = s.k where not n.deleted
	on conflict ({key}) do update set {set} where row({old})::record *<> row({incoming})::record
)
select count(*), count(*) filter (where deleted) from newer`

// The columns of the guard that every table has, and their values in the stage.
const (
	guardNames  = `key, number, source_offset, deleted, delete_offset, content_hash, source, written_at`
	guardValues = `k, number, source_offset, deleted, case when deleted then source_offset else -1 end, content_hash, source, now()`
)

// upsertSQL returns the upsert for a table that was read.
func (t *table) upsertSQL(stage string) string {
	columns, cells := t.cells()
	columns = append([]string{quote(t.key)}, columns...)
	names, values, found, claim := guardNames, guardValues, "s.k", ""
	if t.claims {
		names, values, found, claim = names+", row_key, former_key", values+", rk, null", "s.rk", ", row_key = excluded.row_key, former_key = g.row_key"
	}
	var sets, old, incoming []string
	for _, name := range columns[1:] { // the key stays
		sets, old, incoming = append(sets, name+" = excluded."+name), append(old, "t."+name), append(incoming, "excluded."+name)
	}
	list := func(items []string) string { return strings.Join(items, ", ") }
	return strings.NewReplacer(
		"{guard}", t.guard, "{guard columns}", names, "{guard values}", values, "{claim}", claim, "{stage}", stage,
		"{table}", t.quoted, "{key}", quote(t.key), "{columns}", list(columns), "{values}", list(append([]string{t.keyValue(found)}, cells...)),
		"{set}", list(sets), "{old}", list(old), "{incoming}", list(incoming),
	).Replace(upsert)
}

// keyValue reads the text of a key as the column's type. It fails for a key that a length or a precision would change: the key would be that
// of another feature's row, and would not find the row again. PostgreSQL has no function that raises an error, so a text is read as a number.
func (t *table) keyValue(text string) string {
	c := t.keyColumn
	if c.Declared == t.keyType {
		return text + "::" + t.keyType
	}
	fault := strings.ReplaceAll(fmt.Sprintf("column %s of type %s would change the key ", quote(t.key), c.Declared), "'", "''")
	return fmt.Sprintf("case when %[1]s::%[2]s = %[1]s::%[3]s then %[1]s::%[2]s else ('%[4]s' || %[1]s)::int::text::%[2]s end", text, t.keyType, c.Declared, fault)
}

// remove deletes the rows whose deletes the guard accepted in this transaction (now() is its begin). It is a separate
// statement after the upsert: a statement sees the table as it was when the statement began, and would miss a row that
// another instance wrote while this one waited for it at the guard.
const remove = `
delete from %[2]s as t using %[1]s as g where g.key = any ($1) and g.deleted and g.written_at = now() and t.%[3]s = g.key::%[4]s`

// vacate deletes the rows that keys of this transaction had and no longer have, because they were deleted or moved. A
// row that another key has taken over meanwhile stays.
const vacate = `
delete from %[2]s as t using %[1]s as g where g.key = any ($1) and g.written_at = now() and g.former_key is distinct from g.row_key
	and t.%[3]s = g.former_key::%[4]s and not exists (select from %[1]s o where o.row_key = g.former_key)`

// removal returns the statement that deletes rows of a table that was read. Its argument is the keys that may lose their rows.
func (t *table) removal() string {
	if t.claims {
		return fmt.Sprintf(vacate, t.guard, t.quoted, quote(t.key), t.keyType)
	}
	return fmt.Sprintf(remove, t.guard, t.quoted, quote(t.key), t.keyType)
}

// cells returns the columns that are written, without the key, and their values from the stage.
func (t *table) cells() (columns, values []string) {
	columns, values = []string{quote(t.geometry)}, []string{"s.g::" + t.cast}
	for i, c := range t.columns {
		columns, values = append(columns, quote(c.Name)), append(values, t.cell(c, fmt.Sprintf("s.c%d", i)))
	}
	if t.rest != "" {
		columns, values = append(columns, quote(t.rest)), append(values, fmt.Sprintf("s.c%d::jsonb", len(t.columns)))
	}
	return columns, values
}

// cell reads the text of a property as the column's type. A composite type accepts JSON, as jsonb_populate_record
// reads it.
func (t *table) cell(c column, from string) string {
	if c.form() == formParts {
		name := strings.ReplaceAll(c.Name, "'", "''")
		return fmt.Sprintf("(jsonb_populate_record(null::%s, jsonb_build_object('%s', %s::jsonb))).%s", t.quoted, name, from, quote(c.Name))
	}
	if read := c.utc(from); read != "" {
		return read
	}
	return from + "::" + c.Written
}

// departing returns the argument of the removal: the deleted keys, or all keys if rows can move.
func (t *table) departing(rows []*Row) []string {
	var keys []string
	for _, r := range rows {
		if r.deletes() || t.claims {
			keys = append(keys, string(r.Key))
		}
	}
	return keys
}

// stage is a temporary table that batches are copied into. It belongs to a session, and is empty after each transaction.
// (That is better than arrays as arguments of the statement: docs/decisions/0032.)
type stage struct {
	name string // quoted, with its schema
	open string // begins a transaction, creates the table if it is missing, and begins to copy
}

// stageFields is the number of a stage's columns before those of the properties.
func (t *table) stageFields() int {
	if t.claims {
		return 8
	}
	return 7
}

// newStage returns the stage of a table. Properties are texts, which the columns' types read. Tables with equally
// many columns share a stage. The sink keeps no state about it: behind a pooler the next transaction may be in
// another session.
func (t *table) newStage(lockWait time.Duration) stage {
	var columns strings.Builder
	columns.WriteString("k text, number int8, source_offset int8, deleted boolean, content_hash text, source text")
	if t.claims {
		columns.WriteString(", rk text")
	}
	columns.WriteString(", g geometry")
	for i := range t.width() {
		fmt.Fprintf(&columns, ", c%d text", i)
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(columns.String())) // a hash returns no error
	name := fmt.Sprintf("switchback_stage_%08x", sum.Sum32())
	return stage{
		name: "pg_temp." + name,
		open: fmt.Sprintf("begin; select set_config('client_min_messages', 'warning', true), set_config('lock_timeout', '%d', true), %s; "+
			"create temporary table if not exists %s (%s) on commit delete rows; copy pg_temp.%[3]s from stdin (format binary)",
			lockWait.Milliseconds(), setSession(true), name, columns.String()),
	}
}

// width is the number of texts in a row.
func (t *table) width() int {
	if t.rest != "" {
		return len(t.columns) + 1
	}
	return len(t.columns)
}

// transact writes rows in one transaction: it copies them into the stage, and one statement writes them from there.
func (s *Sink) transact(ctx context.Context, known *reading, rows []*Row) (d done, err error) {
	e, _ := s.encoders.Get().(*encoder)
	if e == nil {
		e = &encoder{}
	}
	defer func() {
		if err != nil {
			e.out = nil // a goroutine of the client may still read the data of a failed copy
		}
		s.encoders.Put(e)
	}()
	e.rows(&known.table, rows)
	err = s.db.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		err := s.exchange(ctx, c.Conn(), known, e.out, known.departing(rows), &d)
		return errors.Join(err, rollback(ctx, c.Conn()))
	})
	return d, err
}

// exchange runs the transaction in two exchanges with the server: the copy, then the statements with the commit.
func (s *Sink) exchange(ctx context.Context, conn *pgx.Conn, known *reading, file []byte, gone []string, d *done) error {
	if _, err := conn.PgConn().CopyFrom(ctx, bytes.NewReader(file), known.stage.open); err != nil {
		return err
	}
	var all pgx.Batch
	all.Queue(known.upsert).QueryRow(func(row pgx.Row) error { return row.Scan(&d.took, &d.deleted) })
	if len(gone) > 0 {
		all.Queue(known.removal, gone)
	}
	all.Queue("commit")
	return conn.SendBatch(ctx, &all).Close()
}

// rollback ends a failed transaction, so that its connection can be used again.
func rollback(ctx context.Context, conn *pgx.Conn) error {
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	if _, err := conn.Exec(ctx, "rollback"); err != nil {
		return conn.Close(ctx)
	}
	return nil
}
