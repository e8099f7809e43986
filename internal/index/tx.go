package index

import (
	"context"
	"database/sql"
	"errors"
)

// tx is one SQL transaction, with statements in the engine's own words.
type tx struct {
	ctx    context.Context
	sql    *sql.Tx
	engine Engine

	statements map[string]*sql.Stmt // by their text
}

// inTx runs fn in a transaction, which is rolled back when fn fails.
func (s *Store) inTx(ctx context.Context, fn func(*tx) error) error {
	opened, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(&tx{ctx: ctx, sql: opened, engine: s.engine, statements: map[string]*sql.Stmt{}}); err != nil {
		return errors.Join(err, ignoreDone(opened.Rollback()))
	}
	return opened.Commit()
}

// ignoreDone forgives the rollback of what a cancelled context has rolled back already.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

func (t *tx) exec(text string, args ...any) error {
	_, err := t.sql.ExecContext(t.ctx, t.engine.sql(text), args...)
	return err
}

func (t *tx) row(text string, args ...any) *sql.Row {
	return t.sql.QueryRowContext(t.ctx, t.engine.sql(text), args...)
}

func (t *tx) query(text string, args ...any) (*sql.Rows, error) {
	return t.sql.QueryContext(t.ctx, t.engine.sql(text), args...)
}

// affected runs a statement that the transaction prepares once, and says how many rows it changed.
func (t *tx) affected(text string, args ...any) (int, error) {
	statement, ok := t.statements[text]
	if !ok {
		var err error
		if statement, err = t.sql.PrepareContext(t.ctx, t.engine.sql(text)); err != nil {
			return 0, err
		}
		t.statements[text] = statement // closed with the transaction
	}
	done, err := statement.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	n, err := done.RowsAffected()
	return int(n), err
}

func (s *Store) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return s.db.QueryContext(ctx, s.engine.sql(text), args...)
}

func (s *Store) row(ctx context.Context, text string, args ...any) *sql.Row {
	return s.db.QueryRowContext(ctx, s.engine.sql(text), args...)
}
