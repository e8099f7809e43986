package sink

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// beginRekey locks the tables, and creates room for the new row keys.
const beginRekey = `
lock table %[1]s, %[2]s in access exclusive mode;
create temporary table switchback_leads (n bigint not null, old text not null, key text not null, row_key text not null) on commit drop`

// planRekey has the new guard, and the row that each key had.
const planRekey = `
analyze switchback_leads;
create temporary table switchback_rekeyed on commit drop as
select g.key as old, coalesce(to_jsonb(g) ->> 'row_key', g.key) as was, l.row_key as leads, coalesce(l.key, g.key) as key, g.number, g.source_offset, g.deleted, g.delete_offset,
	g.content_hash, g.source, g.written_at, case when not g.deleted then l.row_key end as row_key
from %[1]s g left join (select distinct on (old) * from switchback_leads order by old, n desc) l on l.old = g.key`

// moveRows gives each row its new key.
const moveRows = `
update %[1]s t set %[2]s = %[4]s from switchback_rekeyed r
where not r.deleted and t.%[2]s = r.was::%[3]s and r.row_key is distinct from r.was`

// refillGuard writes the guard again, with the columns that it needs now.
const refillGuard = `
delete from %[1]s;
alter table %[1]s drop column if exists row_key, drop column if exists former_key;
alter table %[1]s add column row_key text unique, add column former_key text, add ` + claimCheck + `;
insert into %[1]s (` + guardNames + `, row_key)
select ` + guardNames + `, row_key from switchback_rekeyed;
`

// rekeyCheck is a query whose result prevents the change: keys, and their number.
type rekeyCheck struct{ ask, fault, fix string }

func rekeyChecks() []rekeyCheck {
	return []rekeyCheck{
		{"select old from switchback_rekeyed where not deleted and leads is null", "rows lead nowhere: the output topic has no record of them any more",
			"keep the former sink.key, or make another table and read the source again"},
		{"select string_agg(old, ' and ' order by old) from switchback_rekeyed where not deleted group by leads having count(*) > 1", "rows would be found by the key of another",
			"choose a sink.key that tells them apart, or delete one of them at the source"},
		{"select string_agg(old, ' and ' order by old) from switchback_rekeyed group by key having count(*) > 1", "record keys are the same but for their spelling",
			"make another table, and read the source again"},
	}
}

func (c rekeyCheck) refuse(ctx context.Context, tx pgx.Tx) error {
	e := &RekeyError{Fault: c.fault, Fix: c.fix}
	err := tx.QueryRow(ctx, "select count(*), coalesce((array_agg(k order by k))[1:5], '{}') from ("+c.ask+") as f(k)").Scan(&e.Count, &e.Keys)
	if err == nil && e.Count > 0 {
		return e
	}
	return err
}

// pageSize is how many keys are in memory at once.
const pageSize = 5000

// Guarded is the guard whose keys are changed to another rule.
type Guarded struct {
	tx    pgx.Tx
	guard string
	limit int
	n     int64
	rows  [][]any
}

// Add sets what a key of the guard leads to: its new name in the guard, and its row.
func (g *Guarded) Add(ctx context.Context, old, key, rowKey string) error {
	g.rows = append(g.rows, []any{g.n, old, key, rowKey})
	if g.n++; len(g.rows) < g.limit {
		return nil
	}
	return g.flush(ctx)
}

func (g *Guarded) flush(ctx context.Context) error {
	_, err := g.tx.CopyFrom(ctx, pgx.Identifier{"pg_temp", "switchback_leads"}, []string{"n", "old", "key", "row_key"}, pgx.CopyFromRows(g.rows))
	g.rows = g.rows[:0]
	return err
}

// Each calls do for every key of the guard, a page at a time.
func (g *Guarded) Each(ctx context.Context, do func(key string) error) error {
	for after := ""; ; {
		found, err := g.tx.Query(ctx, `select key from `+g.guard+` where key > $1 collate "C" order by key collate "C" limit $2`, after, g.limit)
		if err != nil {
			return err
		}
		keys, err := pgx.CollectRows(found, pgx.RowTo[string])
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, key := range keys {
			if err := do(key); err != nil {
				return err
			}
		}
		after = keys[len(keys)-1]
	}
}
