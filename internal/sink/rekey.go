package sink

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Rekeyed is the change that was made, or would be made.
type Rekeyed struct {
	From, To  string
	Rows      int64 // with another key now
	Keys      int64 // of the guard
	Unchanged bool  // the table has the rule already
}

// RekeyError lists the keys that prevent the change to another rule. Nothing was changed.
type RekeyError struct {
	Fault, Fix string
	Keys       []string // the first of them
	Count      int64
}

// Error lists keys.
func (e *RekeyError) Error() string {
	return fmt.Sprintf("%d %s, such as %q; %s; nothing was changed", e.Count, e.Fault, e.Keys, e.Fix)
}

// Fill adds the new row key for each key of the guard ([ByPath], [ByOutput]). If it adds two for one key, the later one counts.
type Fill func(ctx context.Context, of *Guarded) error

// Rekey changes the sink.key of a table that has rows. It writes the new keys into the table and its guard, in one
// transaction that locks both tables. Without execute it is rolled back. The guard's columns exclude an instance that
// still writes by the previous rule. The user must own both tables.
func Rekey(ctx context.Context, cfg *config.Config, fill Fill, execute bool) (done Rekeyed, err error) {
	t, db, err := openDDL(cfg)
	if err != nil {
		return done, err
	}
	defer db.Close()
	found, err := describe(ctx, db, t.quoted, t.guard)
	if err != nil {
		return done, fmt.Errorf("read the description of table %s: %w", t.name, err)
	}
	t.compare(found)
	if done, err = t.rekeys(found); err != nil || done.Unchanged {
		return done, err
	}
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := t.rekey(ctx, tx, fill, &done); err != nil {
			return err
		}
		if !execute {
			return errTried
		}
		return nil
	})
	if errors.Is(err, errTried) {
		return done, nil
	}
	if _, refused := errors.AsType[*RekeyError](err); err != nil && !refused {
		err = fmt.Errorf("the rows of table %s were not changed: %w", t.name, db.Lost(err))
	}
	return done, err
}

var errTried = errors.New("tried")

// rekeys returns the change from the table's rule to the configured one, and refuses an impossible one.
func (t *table) rekeys(f facts) (r Rekeyed, err error) {
	r.From, r.To = "sink.key: "+string(config.SinkKeyRecord), t.filledBy()
	if !f.own.there || !f.guard.there {
		return r, fmt.Errorf("table %s or its guard %s does not exist; `consumer sink ddl` prints the statements that create them", t.name, t.guardName())
	}
	if c, there := f.guard.column(rowKeyColumn); there {
		r.From = c.Comment
	}
	switch former := (&table{rule: config.SinkKeyFeature}).filledBy(); {
	case r.From == r.To:
		r.Unchanged = true
	case !t.claims:
		return r, fmt.Errorf("table %s uses the key %q and cannot return to the record key; create another table, and read the source again", t.name, r.From)
	case r.From != "sink.key: "+string(config.SinkKeyRecord) && r.From != former:
		return r, fmt.Errorf("table %s uses the key %q, which does not keep the record keys; create another table, and read the source again", t.name, r.From)
	}
	return r, nil
}

func (t *table) rekey(ctx context.Context, tx pgx.Tx, fill Fill, done *Rekeyed) error {
	if _, err := tx.Exec(ctx, "select "+setSession(true)+";"+fmt.Sprintf(beginRekey, t.quoted, t.guard)); err != nil {
		return err
	}
	of := &Guarded{tx: tx, guard: t.guard, limit: pageSize}
	if err := fill(ctx, of); err != nil {
		return err
	}
	if err := of.flush(ctx); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf(planRekey, t.guard)); err != nil {
		return err
	}
	for _, check := range rekeyChecks() {
		if err := check.refuse(ctx, tx); err != nil {
			return err
		}
	}
	if err := tx.QueryRow(ctx, "select count(*) from switchback_rekeyed").Scan(&done.Keys); err != nil {
		return err
	}
	moved, err := tx.Exec(ctx, fmt.Sprintf(moveRows, t.quoted, quote(t.key), t.keyType, t.keyValue("r.row_key")))
	if err != nil {
		return err
	}
	done.Rows = moved.RowsAffected()
	_, err = tx.Exec(ctx, fmt.Sprintf(refillGuard, t.guard)+fmt.Sprintf(ruleDDL, t.guard, t.rule))
	return err
}

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

// moveRows sets each row's new key.
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
		{"select old from switchback_rekeyed where not deleted and leads is null", "rows would get no key, because the output topic no longer has their records",
			"keep the previous sink.key, or create another table and read the source again"},
		{"select string_agg(old, ' and ' order by old) from switchback_rekeyed where not deleted group by leads having count(*) > 1", "rows would have the key of another row",
			"choose a sink.key that is different for them, or delete one of them at the source"},
		{"select string_agg(old, ' and ' order by old) from switchback_rekeyed group by key having count(*) > 1", "record keys differ only in their spelling",
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

// Add sets the target of a key of the guard: its new name in the guard, and its row.
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

// ByPath adds the row key at a path in each record key of the guard.
func ByPath(path func(ctx context.Context, recordKey []byte) (guard, row []byte, err error)) Fill {
	return func(ctx context.Context, of *Guarded) error {
		return of.Each(ctx, func(old string) error {
			recordKey, err := RecordKey([]byte(old))
			if err != nil {
				return err
			}
			key, row, err := path(ctx, recordKey)
			if err != nil {
				return fmt.Errorf("key %q of the guard: %w", old, err)
			}
			return of.Add(ctx, old, string(key), string(row))
		})
	}
}

// ByOutput adds the feature's id, which is in a header of the last record of each key in the output topic.
func ByOutput(client *kgo.Client, topic string) Fill {
	return func(ctx context.Context, of *Guarded) error {
		spans, err := kafka.DecidedSpans(ctx, client, topic)
		if err != nil {
			return err
		}
		return kafka.Scan(ctx, client, topic, spans, func(r *kgo.Record) error { return addFeatureID(ctx, of, r) })
	}
}

// addFeatureID adds the feature id of an output record as the row key of its record key.
func addFeatureID(ctx context.Context, of *Guarded, r *kgo.Record) error {
	if r.Value == nil {
		return nil
	}
	for _, h := range r.Headers {
		if h.Key != header.KeyFeatureID || len(h.Value) == 0 {
			continue
		}
		if len(h.Value) >= header.MaxText {
			return fmt.Errorf("%s/%d/%d: the feature id may be cut in its header, which has at most %d bytes; make another table, and read the source again", r.Topic, r.Partition, r.Offset, header.MaxText)
		}
		key := string(GuardKey(r.Key))
		return of.Add(ctx, key, key, string(h.Value))
	}
	return nil
}
