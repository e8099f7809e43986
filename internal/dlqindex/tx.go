package dlqindex

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// session is one connection with its prepared statements, which outlive a transaction. It is for one goroutine.
type session struct {
	conn       *sql.Conn
	engine     Engine
	place      string               // of the store, without a password
	statements map[string]*sql.Stmt // by their text

	// of a sync:
	topic      string // the DLQ
	maxReplays int    // from which a letter that failed again in other software is escalated
}

// session returns a connection; the caller closes it.
func (s *database) session(ctx context.Context) (*session, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &session{conn: conn, engine: s.engine, place: s.place, statements: map[string]*sql.Stmt{}}, nil
}

func (w *session) close() {
	for _, statement := range w.statements {
		_ = statement.Close() // the connection goes back to the pool, or is broken and closed
	}
	_ = w.conn.Close()
}

// inTx runs fn in a transaction of a connection of its own.
func (s *database) inTx(ctx context.Context, fn func(*tx) error) error { return s.run(ctx, nil, fn) }

// reading runs fn in a transaction that sees a snapshot of the index.
func (s *database) reading(ctx context.Context, fn func(*tx) error) error {
	return s.run(ctx, s.engine.snapshot(), fn)
}

func (s *database) run(ctx context.Context, o *sql.TxOptions, fn func(*tx) error) error {
	w, err := s.session(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	return w.run(ctx, o, fn)
}

// inTx runs fn in a transaction.
func (w *session) inTx(ctx context.Context, fn func(*tx) error) error { return w.run(ctx, nil, fn) }

// run runs fn in a transaction, and rolls it back if fn fails.
func (w *session) run(ctx context.Context, o *sql.TxOptions, fn func(*tx) error) error {
	opened, err := w.conn.BeginTx(ctx, o)
	if err != nil {
		return damage(w.place, err)
	}
	if err := fn(&tx{ctx: ctx, sql: opened, session: w, engine: w.engine}); err != nil {
		return damage(w.place, errors.Join(err, ignoreDone(opened.Rollback())))
	}
	return damage(w.place, opened.Commit())
}

// ignoreDone drops the error of a rollback that a cancelled context has done already.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// tx is one SQL transaction. Statements are written for the engine (see [Engine.sql]).
type tx struct {
	ctx     context.Context
	sql     *sql.Tx
	session *session
	engine  Engine
}

func (t *tx) exec(text string, args ...any) error {
	_, err := t.sql.ExecContext(t.ctx, t.engine.sql(text), args...)
	return err
}

func (t *tx) row(text string, args ...any) *sql.Row {
	return t.sql.QueryRowContext(t.ctx, t.engine.sql(text), args...)
}

// prepared returns a statement that the connection prepares once. It runs on the connection, because [sql.Tx] would
// prepare it in every transaction again. While the transaction is open, both are the same. A cancelled context ends the
// transaction early, and then no statement starts.
func (t *tx) prepared(text string) (*sql.Stmt, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	if statement, ok := t.session.statements[text]; ok {
		return statement, nil
	}
	statement, err := t.session.conn.PrepareContext(t.ctx, t.engine.sql(text))
	if err == nil {
		t.session.statements[text] = statement
	}
	return statement, err
}

// affected runs a prepared statement and returns how many rows it changed.
func (t *tx) affected(text string, args ...any) (int, error) {
	statement, err := t.prepared(text)
	if err != nil {
		return 0, err
	}
	done, err := statement.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	n, err := done.RowsAffected()
	return int(n), err
}

// found runs a prepared query and calls fn for each row.
func (t *tx) found(text string, fn func(*sql.Rows) error, args ...any) error {
	statement, err := t.prepared(text)
	if err != nil {
		return err
	}
	rows, err := statement.QueryContext(t.ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// rows runs a statement with a list of VALUES, many per statement, and returns how many rows it changed.
func (t *tx) rows(before string, values [][]any, behind string) (int, error) {
	changed := 0
	err := chunked(values, func(some [][]any) error {
		n, err := t.affected(before+placeholders(len(some), len(some[0]))+behind, slices.Concat(some...)...)
		changed += n
		return err
	})
	return changed, err
}

// arguments returns a list as arguments of a statement.
func arguments[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// placeholders returns "(?, ?), (?, ?)" for two rows of two columns.
func placeholders(rows, columns int) string {
	one := "(" + strings.TrimSuffix(strings.Repeat("?, ", columns), ", ") + ")"
	return strings.TrimSuffix(strings.Repeat(one+", ", rows), ", ")
}

// chunked calls fn for a list in pieces of few sizes, so that few statements are prepared. The largest size, times the
// columns of a letter, stays below the limit of parameters of both engines (32766).
func chunked[T any](list []T, fn func([]T) error) error {
	for _, size := range []int{200, 20, 1} {
		for ; len(list) >= size; list = list[size:] {
			if err := fn(list[:size]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *database) row(ctx context.Context, text string, args ...any) *sql.Row {
	return s.db.QueryRowContext(ctx, s.engine.sql(text), args...)
}

// inSnapshot answers a question about a DLQ in a transaction that sees a snapshot of the index. what is the verb in errors.
func inSnapshot[T any](ctx context.Context, d *DLQ, what string, question func(*tx) (T, error)) (answer T, err error) {
	err = d.database.reading(ctx, func(t *tx) (err error) {
		answer, err = question(t)
		return err
	})
	return answer, wrapped(what+" dead letters of "+d.topic, err)
}

// snapshot returns the options of a transaction that writes nothing and in which all queries see the same rows.
func (e Engine) snapshot() *sql.TxOptions {
	if e == PostgreSQL {
		return &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
	}
	return &sql.TxOptions{ReadOnly: true} // SQLite has one level
}
