package sink

import (
	"fmt"
	"strings"
)

// guardColumn is a column of the guard, and its type as PostgreSQL writes it.
type guardColumn struct{ name, typ string }

// guardColumns are the columns of the guard: the key, under which version what was written for it took effect, whether it was
// a delete, the offset of its newest delete, and which event it was.
func guardColumns() []guardColumn {
	return []guardColumn{
		{"key", "text"}, {"number", "bigint"}, {"source_offset", "bigint"}, {"deleted", "boolean"}, {"delete_offset", "bigint"},
		{"content_hash", "text"}, {"source", "text"}, {"written_at", "timestamp with time zone"},
	}
}

// upsert writes the guard and the features of a batch. Its arguments are arrays, one entry a row: keys, numbers and offsets of
// versions, deletes, content hashes, sources, features; and after them the columns that properties go into. It gives how many
// rows were not older than what the guard had, and how many of them were deletes.
//
// Two instances that write one key wait for each other at the guard's row, and the second compares with what the first has
// written. A delete counts as newer than every event that first appeared before it, whatever number that one has. The event
// that was written last is written again when it comes again: what a remote step says of it may have changed since an attempt
// whose transaction was aborted, and the output topic has what the later attempt made.
const upsert = `
with incoming as (
	select *, case jsonb_typeof(feature->'properties') when 'object' then feature->'properties' else '{}' end as properties from unnest($1::text[], $2::int8[], $3::int8[], $4::bool[], $5::text[], $6::text[], $7::jsonb[])
		as t(key, number, source_offset, deleted, content_hash, source, feature)
), newer as (
	insert into %[1]s as g (key, number, source_offset, deleted, delete_offset, content_hash, source, written_at)
	select key, number, source_offset, deleted, case when deleted then source_offset else -1 end, content_hash, source, now() from incoming order by key
	on conflict (key) do update set number = case when excluded.deleted then greatest(g.number, excluded.number) else excluded.number end,
		source_offset = excluded.source_offset, deleted = excluded.deleted, delete_offset = greatest(g.delete_offset, excluded.delete_offset),
		content_hash = excluded.content_hash, source = excluded.source, written_at = excluded.written_at
	where excluded.source_offset > g.delete_offset
		and ((g.number, g.source_offset) <= (excluded.number, excluded.source_offset) or excluded.deleted and g.source_offset <= excluded.source_offset)
	returning key
), written as (
	insert into %[2]s (%[3]s, %[4]s%[5]s)
	select i.key::%[10]s, case when jsonb_typeof(i.feature->'geometry') = 'object' then st_setsrid(st_geomfromgeojson(i.feature->'geometry'), %[6]d)::%[7]s end%[8]s
	from incoming i join newer n using (key),
		lateral jsonb_populate_record(null::%[2]s, (select coalesce(jsonb_object_agg(p.key, p.value), '{}') from jsonb_each(i.properties) p where p.key = any ($8))) as r
	where not i.deleted
	on conflict (%[3]s) do update set %[9]s
)
select count(*), count(*) filter (where i.deleted) from newer n join incoming i using (key)`

// remove takes the rows away whose deletes the guard took in this transaction (now() is when it began), which holds the guard's
// rows. It follows the upsert and is a statement of its own: one statement sees the table as it was when it began, and would
// miss a row that another instance wrote while this one waited for it at the guard.
const remove = `
delete from %[2]s as t using %[1]s as g where g.key = any ($1) and g.deleted and g.written_at = now() and t.%[3]s = g.key::%[4]s`

// removal is the remove for a table that was read. Its argument is the keys that are deleted.
func (t *table) removal() string {
	return fmt.Sprintf(remove, t.guard, t.quoted, quote(t.key), t.keyType)
}

// statement is the upsert for a table that was read.
func (t *table) statement() string {
	var names, values, sets strings.Builder
	set := func(name string) { fmt.Fprintf(&sets, "%s = excluded.%s", quote(name), quote(name)) }
	set(t.geometry)
	for _, name := range t.columnNames() {
		fmt.Fprintf(&names, ", %s", quote(name))
		fmt.Fprintf(&values, ", r.%s", quote(name))
		sets.WriteString(", ")
		set(name)
	}
	if t.rest != "" {
		fmt.Fprintf(&names, ", %s", quote(t.rest))
		values.WriteString(", i.properties - $8::text[]")
		sets.WriteString(", ")
		set(t.rest)
	}
	return fmt.Sprintf(upsert, t.guard, t.quoted, quote(t.key), quote(t.geometry), names.String(), t.srid, t.cast, values.String(), sets.String(), t.keyType)
}

// deletedKeys are the argument of the removal.
func deletedKeys(rows []*Row) []string {
	var keys []string
	for _, r := range rows {
		if r.deletes() {
			keys = append(keys, string(r.Key))
		}
	}
	return keys
}

// arguments are those of the statement.
func (t *table) arguments(rows []*Row) []any {
	var keys, hashes, sources []string
	var numbers, offsets []int64
	var deletes []bool
	var features []*string
	for _, r := range rows {
		keys, hashes, sources = append(keys, string(r.Key)), append(hashes, r.ContentHash), append(sources, r.Source)
		numbers, offsets, deletes = append(numbers, r.Version.Number), append(offsets, r.Version.Offset), append(deletes, r.deletes())
		var feature *string
		if !r.deletes() {
			text := string(r.GeoJSON)
			feature = &text
		}
		features = append(features, feature)
	}
	return []any{keys, numbers, offsets, deletes, hashes, sources, features, t.columnNames()}
}
