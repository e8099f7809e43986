package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Audit compares the table with rows as they should be. It writes a temporary table of its session and nothing else. It is not safe for
// concurrent use.
type Audit struct {
	sink *Sink
	conn *pgxpool.Conn
	r    *reading
	plan auditSQL
}

// Fact is what the table and its guard say about a row that should be there, or should not.
type Fact struct {
	Known   bool                // the guard has the key
	Deleted bool                // by the guard
	Same    bool                // the guard has the same content
	Source  string              // of what the guard has: topic/partition/offset
	Version retrytopics.Version // the same
	There   bool                // the table has the row
	Differs bool                // and it is not as it should be
}

// Extra is a row of the table that was not among those that should be there.
type Extra struct {
	Key   string
	Known bool // the guard has it as the row of a key
}

// Audit begins to compare. End it.
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
	if _, err := a.conn.Exec(ctx, "drop table if exists pg_temp.switchback_audited; reset statement_timeout"); err != nil {
		return errors.Join(a.sink.db.Lost(err), a.conn.Conn().Close(ctx))
	}
	return nil
}

// Check gives what the table says about each of the rows, which have different keys, in one look.
func (a *Audit) Check(ctx context.Context, rows []*Row) ([]Fact, error) {
	for _, row := range rows {
		if err := a.r.prepare(row); err != nil {
			return nil, fmt.Errorf("feature %q: %w", row.Key, err)
		}
	}
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
		err = a.ask(ctx, conn, places, facts)
	}
	if err := errors.Join(err, rollback(ctx, conn)); err != nil {
		return nil, a.sink.db.Lost(err)
	}
	return facts, nil
}

func (a *Audit) ask(ctx context.Context, conn *pgx.Conn, places map[string]int, facts []Fact) error {
	var all pgx.Batch
	all.Queue(a.plan.note)
	all.Queue(a.plan.check).Query(func(found pgx.Rows) error {
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

// Extras gives the rows that no check was about, and how many rows there are.
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
	if _, err := pgx.ForEachRow(found, []any{&x.Key, &x.Known}, func() error { return take(x) }); err != nil {
		return 0, a.sink.db.Lost(err)
	}
	return rows, nil
}

// auditSQL are the statements of an audit.
type auditSQL struct{ begin, note, check, extras string }

func (r *reading) auditSQL() auditSQL {
	id, owner, moved := "s.k::"+r.keyType, "g.key", "s.k::"+r.keyType
	if r.claims {
		id, owner = "s.rk::"+r.keyType, "g.row_key"
		moved = "coalesce(s.rk, g.row_key)::" + r.keyType // of a delete that the table does not have yet
	}
	columns, values := r.cells()
	for i, name := range columns {
		columns[i] = "t." + name
	}
	key := quote(r.key)
	return auditSQL{
		begin: "set statement_timeout = 0; create temporary table if not exists switchback_audited (id " + r.keyType + "); truncate pg_temp.switchback_audited",
		note: fmt.Sprintf("insert into pg_temp.switchback_audited select %s from %s s left join %s g on g.key = s.k where %[1]s is not null",
			moved, r.stage.name, r.guard),
		check: fmt.Sprintf(`select s.k, g.key is not null, coalesce(g.deleted, false), coalesce(g.content_hash = s.content_hash, false), coalesce(g.source, ''),
	coalesce(g.number, 0), coalesce(g.source_offset, 0), t.%[1]s is not null, t.%[1]s is not null and not s.deleted and row(%[2]s)::record *<> row(%[3]s)::record
from %[4]s s left join %[5]s g on g.key = s.k left join %[6]s t on t.%[1]s = %[7]s`,
			key, strings.Join(columns, ", "), strings.Join(values, ", "), r.stage.name, r.guard, r.quoted, id),
		extras: fmt.Sprintf(`select t.%[1]s::text, exists (select from %[2]s g where %[3]s = t.%[1]s::text and not g.deleted)
from %[4]s t where not exists (select from pg_temp.switchback_audited a where a.id = t.%[1]s) order by t.%[1]s`, key, r.guard, owner, r.quoted),
	}
}
