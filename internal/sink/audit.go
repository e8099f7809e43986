package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Audit compares the table with expected rows. It writes only a temporary table of its session. It is not safe for
// concurrent use.
type Audit struct {
	sink *Sink
	conn *pgxpool.Conn
	r    *reading
	plan auditSQL
}

// Fact is what the table and its guard have for an expected row, or for one that should not exist.
type Fact struct {
	Known   bool           // the guard has the key
	Deleted bool           // according to the guard
	Same    bool           // the guard has the same content
	Source  string         // of the guard's event: topic/partition/offset
	Version header.Version // of the guard's event
	There   bool           // the table has the row
	Differs bool           // and it is not as expected
}

// Extra is an unexpected row of the table.
type Extra struct {
	Key   string
	Known bool // the guard has the row under another key
}

// Audit begins a comparison. The caller must End it.
func (s *Sink) Audit(ctx context.Context) (*Audit, error) {
	r, err := s.known(ctx, 0)
	if err != nil {
		return nil, err
	}
	conn, err := s.db.Acquire(ctx)
	if err != nil {
		return nil, s.db.Lost(err)
	}
	a := &Audit{sink: s, conn: conn, r: r, plan: r.auditSQL()}
	if _, err := conn.Exec(ctx, a.plan.begin); err != nil {
		conn.Release()
		return nil, s.db.Lost(err)
	}
	return a, nil
}

// End frees the session.
func (a *Audit) End(ctx context.Context) error {
	defer a.conn.Release()
	if _, err := a.conn.Exec(ctx, a.plan.end); err != nil {
		return errors.Join(a.sink.db.Lost(err), a.conn.Conn().Close(ctx))
	}
	return nil
}

// Check returns the facts about rows, which have different keys. A row whose values do not fit the columns always
// differs from the table's.
func (a *Audit) Check(ctx context.Context, rows []*Row) ([]Fact, error) {
	refused := make([]bool, len(rows))
	for i, row := range rows {
		refused[i] = a.r.prepare(row) != nil
	}
	facts, err := a.check(ctx, rows)
	for i := range facts {
		facts[i].Differs = facts[i].Differs || refused[i] && facts[i].There
	}
	return facts, err
}

// check halves rows with one whose values do not fit the columns, until that row is alone.
func (a *Audit) check(ctx context.Context, rows []*Row) ([]Fact, error) {
	facts, err := a.look(ctx, rows, a.plan.check)
	switch half := len(rows) / 2; {
	case err == nil || !a.refuses(err):
		return facts, err
	case half > 0:
		first, err := a.check(ctx, rows[:half])
		if err != nil {
			return nil, err
		}
		second, err := a.check(ctx, rows[half:])
		return append(first, second...), err
	}
	facts, err = a.look(ctx, rows, a.plan.bare)
	if err != nil && a.refuses(err) { // not even the key fits its column
		return make([]Fact, len(rows)), nil
	}
	return facts, err
}

// refuses reports whether a failure is caused by one row's values.
func (a *Audit) refuses(err error) bool {
	return a.sink.classify(refused(err)).Level == classify.LevelRow
}

// look returns the facts about rows, by one of the plan's checks.
func (a *Audit) look(ctx context.Context, rows []*Row, check []string) ([]Fact, error) {
	facts := make([]Fact, len(rows))
	places := make(map[string]int, len(rows))
	for i, row := range rows {
		places[string(row.Key)] = i
	}
	var e encoder
	e.rows(&a.r.table, rows)
	conn := a.conn.Conn()
	_, err := conn.PgConn().CopyFrom(ctx, bytes.NewReader(e.out), a.r.stage.open)
	if err == nil {
		err = a.ask(ctx, conn, check, places, facts)
	}
	return facts, a.sink.db.Lost(errors.Join(err, rollback(ctx, conn)))
}

func (a *Audit) ask(ctx context.Context, conn *pgx.Conn, check []string, places map[string]int, facts []Fact) error {
	var all pgx.Batch
	last := len(check) - 1
	for _, statement := range check[:last] {
		all.Queue(statement)
	}
	all.Queue(check[last]).Query(func(found pgx.Rows) error {
		var key string
		var f Fact
		_, err := pgx.ForEachRow(found, []any{&key, &f.Known, &f.Deleted, &f.Same, &f.Source, &f.Version.Number, &f.Version.Offset, &f.There, &f.Differs}, func() error {
			facts[places[key]] = f
			return nil
		})
		return err
	})
	all.Queue("commit")
	return conn.SendBatch(ctx, &all).Close()
}

// Extras calls take with the rows that no check covered, and returns the number of rows.
func (a *Audit) Extras(ctx context.Context, take func(Extra) error) (rows int64, err error) {
	if err := a.conn.QueryRow(ctx, "select count(*) from "+a.r.quoted).Scan(&rows); err != nil {
		return 0, a.sink.db.Lost(err)
	}
	if _, err := a.conn.Exec(ctx, "analyze pg_temp.switchback_audited"); err != nil {
		return 0, a.sink.db.Lost(err)
	}
	found, err := a.conn.Query(ctx, a.plan.extras)
	if err != nil {
		return 0, a.sink.db.Lost(err)
	}
	var x Extra
	_, err = pgx.ForEachRow(found, []any{&x.Key, &x.Known}, func() error { return take(x) })
	return rows, a.sink.db.Lost(err)
}

// auditSQL has the statements of an audit.
type auditSQL struct {
	begin, end, extras string

	check []string // the last one sends the query; the others prepare it
	bare  []string // the same for rows whose values do not fit the columns: they always differ
}

// auditSQL returns the statements. Expected rows are inserted into a temporary table with the columns' types, including
// precision and length, by the expressions of the sink's insert. The database thus rounds, pads and cuts them as it did
// for the table.
func (r *reading) auditSQL() auditSQL {
	id, owner, moved := "s.k::"+r.keyType, "g.key", "s.k::"+r.keyType
	if r.claims {
		id, owner = "s.rk::"+r.keyType, "g.row_key"
		moved = "coalesce(s.rk, g.row_key)::" + r.keyType // of a delete that the table does not have yet
	}
	columns, values := r.cells()
	same, wanted, into := make([]string, len(columns)), make([]string, len(columns)), make([]string, len(columns))
	for i, name := range columns {
		into[i] = fmt.Sprintf("e%d", i)
		wanted[i], same[i] = "e."+into[i], "t."+name
		columns[i] = same[i] + " as " + into[i]
	}
	key := quote(r.key)
	note := fmt.Sprintf("insert into pg_temp.switchback_audited select %s from %s s left join %s g on g.key = s.k where %[1]s is not null",
		moved, r.stage.name, r.guard)
	ask := func(differs, join string) string {
		return fmt.Sprintf(`select s.k, g.key is not null, coalesce(g.deleted, false), coalesce(g.content_hash = s.content_hash, false), coalesce(g.source, ''),
	coalesce(g.number, 0), coalesce(g.source_offset, 0), t.%[1]s is not null, t.%[1]s is not null and not s.deleted and %[2]s
from %[3]s s left join %[4]s g on g.key = s.k left join %[5]s t on t.%[1]s = %[6]s%[7]s`, key, differs, r.stage.name, r.guard, r.quoted, id, join)
	}
	list := func(items []string) string { return strings.Join(items, ", ") }
	return auditSQL{
		begin: fmt.Sprintf("set statement_timeout = 0; select "+setSession(false)+"; create temporary table if not exists switchback_audited (id %[1]s); truncate pg_temp.switchback_audited; "+
			"drop table if exists pg_temp.switchback_expected; "+
			"create temporary table switchback_expected on commit delete rows as select ''::text as k, %[2]s from %[3]s t with no data", r.keyType, list(columns), r.quoted),
		end: "drop table if exists pg_temp.switchback_audited, pg_temp.switchback_expected; reset statement_timeout" + resetSession(),
		check: []string{
			note,
			fmt.Sprintf("insert into pg_temp.switchback_expected (k, %s) select s.k, %s from %s s where not s.deleted", list(into), list(values), r.stage.name),
			ask(fmt.Sprintf("row(%s)::record *<> row(%s)::record", list(same), list(wanted)), " left join pg_temp.switchback_expected e on e.k = s.k"),
		},
		bare: []string{note, ask("true", "")},
		extras: fmt.Sprintf(`select t.%[1]s::text, exists (select from %[2]s g where %[3]s = t.%[1]s::text and not g.deleted)
from %[4]s t where not exists (select from pg_temp.switchback_audited a where a.id = t.%[1]s) order by t.%[1]s`, key, r.guard, owner, r.quoted),
	}
}

// Evict deletes rows that belong to no key of the guard, because another program inserted them. Meanwhile it locks their
// keys in the guard, so that a row that an instance writes at the same moment stays. It returns the number of deleted
// rows.
func (s *Sink) Evict(ctx context.Context, keys []string) (gone int64, err error) {
	r, err := s.known(ctx, s.refreshAge)
	if err != nil {
		return 0, err
	}
	hold, held := evictByRecord, "g.key"
	if r.claims {
		hold, held = evictByClaim, "g.row_key"
	}
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select "+setSession(true)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf(hold, r.guard), keys, int64(math.MinInt64)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf("select from %s g where %s = any ($1) order by g.key for update", r.guard, held), keys); err != nil {
			return err
		}
		away, err := tx.Exec(ctx, fmt.Sprintf("delete from %[1]s t using %[2]s g where %[3]s = any ($1) and (g.deleted or g.source = '%[4]s') and t.%[5]s = %[3]s::%[6]s",
			r.quoted, r.guard, held, evictor, quote(r.key), r.keyType), keys)
		if err != nil {
			return err
		}
		gone = away.RowsAffected()
		_, err = tx.Exec(ctx, fmt.Sprintf("delete from %s where source = '%s'", r.guard, evictor))
		return err
	})
	return gone, s.db.Lost(err)
}

// evictor is the source of locked keys. No topic has this name.
const evictor = "(evicted)"

// The keys, in order. They are older than every event.
const (
	evictByRecord = `insert into %s (key, number, source_offset, deleted, delete_offset, content_hash, source, written_at)
select k, $2, -1, true, -1, '', '` + evictor + `', now() from unnest($1::text[]) as k order by k on conflict (key) do nothing`
	evictByClaim = `insert into %s (key, number, source_offset, deleted, delete_offset, content_hash, source, written_at, row_key)
select '` + escaped + `evict:' || k, $2, -1, false, -1, '', '` + evictor + `', now(), k from unnest($1::text[]) as k order by k on conflict (row_key) do nothing`
)
