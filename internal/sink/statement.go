package sink

import (
	"fmt"
	"strings"
)

// guardColumn is a column of the guard, and its type as PostgreSQL writes it.
type guardColumn struct{ name, typ string }

// guardColumns are the columns of the guard: the key, under which version what was written for it took effect, whether it was
// a delete, the offset of its newest delete, and which event it was. Where the record key does not find the row, also which row
// the key has, null for none, and which one it had before the event that was written last.
func (t *table) guardColumns() []guardColumn {
	columns := []guardColumn{
		{"key", "text"}, {"number", "bigint"}, {"source_offset", "bigint"}, {"deleted", "boolean"}, {"delete_offset", "bigint"},
		{"content_hash", "text"}, {"source", "text"}, {"written_at", "timestamp with time zone"},
	}
	if t.claims {
		columns = append(columns, guardColumn{"row_key", "text"}, guardColumn{"former_key", "text"})
	}
	return columns
}

// upsert writes the guard and the features of a batch that lies in the stage. It gives how many rows were not older than what the
// guard had, how many of them were deletes, and how many have a key that was not there.
//
// Two instances that write one key wait for each other at the guard's row, and the second compares with what the first has
// written. The guard's rows are taken in the order of their keys, so that no two instances wait for each other. A delete counts as
// newer than every event that first appeared before it, whatever number that one has. The event that was written last is written
// again when it comes again: what a remote step says of it may have changed since an attempt whose transaction was aborted, and
// the output topic has what the later attempt made. What is the same byte by byte (*<>) stays: no dead row, no trigger.
const upsert = `
with newer as (
	insert into %[2]s as g (%[3]s) select %[4]s from %[1]s order by k
	on conflict (key) do update set %[5]s
	returning g.key, g.deleted, g.xmax = 0 as fresh
), written as (
	insert into %[6]s as t (%[7]s) select %[8]s from %[1]s s join newer n on n.key = s.k where not n.deleted
	on conflict (%[9]s) do update set %[10]s
)
select count(*), count(*) filter (where deleted), count(*) filter (where fresh) from newer`

// appending does the same, and is faster for keys that the guard has not: what is inserted without a thought of conflicts costs the
// database about half. A key that another instance inserts at the same moment, or that the table has and the guard has not, fails
// it as a whole (SQLSTATE 23505), and the upsert does its work.
const appending = `
with staged as materialized (
	select s.*, (select true from %[2]s g where g.key = s.k) is null as fresh from %[1]s s
), added as (
	insert into %[2]s (%[3]s) select %[4]s from staged where fresh order by k
	returning deleted
), first as (
	insert into %[6]s (%[7]s) select %[8]s from staged s where fresh and not deleted
), newer as (
	insert into %[2]s as g (%[3]s) select %[4]s from staged where not fresh order by k
	on conflict (key) do update set %[5]s
	returning g.key, g.deleted
), written as (
	insert into %[6]s as t (%[7]s) select %[8]s from staged s join newer n on n.key = s.k where not n.deleted
	on conflict (%[9]s) do update set %[10]s
)
select count(*), count(*) filter (where deleted), count(*) filter (where fresh) from (select deleted, true as fresh from added union all select deleted, false from newer) all_of_them`

// The parts of both: the columns of the guard, what a row says for them, and when and how it takes the place of an older one.
const (
	guardNames  = `key, number, source_offset, deleted, delete_offset, content_hash, source, written_at`
	guardValues = `k, number, source_offset, deleted, case when deleted then source_offset else -1 end, content_hash, source, now()`
	guardSets   = `number = excluded.number, source_offset = excluded.source_offset, deleted = excluded.deleted, delete_offset = greatest(g.delete_offset, excluded.delete_offset),
		content_hash = excluded.content_hash, source = excluded.source, written_at = excluded.written_at%s
	where excluded.source_offset > g.delete_offset
		and ((g.number, g.source_offset) <= (excluded.number, excluded.source_offset) or excluded.deleted and g.source_offset <= excluded.source_offset)`
)

// remove takes the rows away whose deletes the guard took in this transaction (now() is when it began), which holds the guard's
// rows. It follows the upsert and is a statement of its own: one statement sees the table as it was when it began, and would
// miss a row that another instance wrote while this one waited for it at the guard.
const remove = `
delete from %[2]s as t using %[1]s as g where g.key = any ($1) and g.deleted and g.written_at = now() and t.%[3]s = g.key::%[4]s`

// vacate takes away the rows that keys of this transaction had, and have no more: they were deleted, or moved. Nobody else may have
// taken the row meanwhile.
const vacate = `
delete from %[2]s as t using %[1]s as g where g.key = any ($1) and g.written_at = now() and g.former_key is distinct from g.row_key
	and t.%[3]s = g.former_key::%[4]s and not exists (select from %[1]s o where o.row_key = g.former_key)`

// removal is the remove for a table that was read. Its argument is the keys that may lose their rows.
func (t *table) removal() string {
	if t.claims {
		return fmt.Sprintf(vacate, t.guard, t.quoted, quote(t.key), t.keyType)
	}
	return fmt.Sprintf(remove, t.guard, t.quoted, quote(t.key), t.keyType)
}

// fill writes one of the statements for a table that was read.
func (t *table) fill(statement, stage string) string {
	columns, cells := t.cells()
	columns = append([]string{quote(t.key)}, columns...)
	names, guards, finds, moves := guardNames, guardValues, "s.k::", ""
	if t.claims {
		names, guards, finds, moves = names+", row_key, former_key", guards+", rk, null", "s.rk::", ", row_key = excluded.row_key, former_key = g.row_key"
	}
	values := append([]string{finds + t.keyType}, cells...)
	var sets, old, incoming []string
	for _, name := range columns[1:] { // the key stays
		sets, old, incoming = append(sets, name+" = excluded."+name), append(old, "t."+name), append(incoming, "excluded."+name)
	}
	list := func(items []string) string { return strings.Join(items, ", ") }
	changed := fmt.Sprintf("%s where row(%s)::record *<> row(%s)::record", list(sets), list(old), list(incoming))
	return fmt.Sprintf(statement, stage, t.guard, names, guards, fmt.Sprintf(guardSets, moves), t.quoted, list(columns), list(values), quote(t.key), changed)
}

// cells are the columns that are written, but for the key, and what they get from the stage.
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

// cell reads the text of a property as the column's type. A type that is made of others takes JSON, as jsonb_populate_record
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

// departing are the argument of the removal: the keys that are deleted, and where rows move all of them.
func (t *table) departing(rows []*Row) []string {
	var keys []string
	for _, r := range rows {
		if r.deletes() || t.claims {
			keys = append(keys, string(r.Key))
		}
	}
	return keys
}
