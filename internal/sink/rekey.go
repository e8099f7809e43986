package sink

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/config"
)

// Rekeyed is what was changed, or would be.
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

// Rekey changes the sink.key of a table that has rows. It writes the new keys into the table and its guard, in one transaction that locks
// both tables. Without execute it is rolled back. The guard's columns keep out an instance that still writes by the former rule. The user
// must own both tables.
func Rekey(ctx context.Context, cfg *config.Config, fill Fill, execute bool) (done Rekeyed, err error) {
	t, db, err := openDDL(cfg)
	if err != nil {
		return done, err
	}
	defer db.Close()
	found, err := describe(ctx, db, t.quoted, t.guard)
	if err != nil {
		return done, fmt.Errorf("look at table %s: %w", t.name, err)
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
		err = fmt.Errorf("table %s keeps its rows as they are: %w", t.name, db.Lost(err))
	}
	return done, err
}

var errTried = errors.New("tried")

// rekeys returns the change from the table's rule to the configured one, and refuses an impossible one.
func (t *table) rekeys(f facts) (r Rekeyed, err error) {
	r.From, r.To = "sink.key: "+string(config.SinkKeyRecord), t.filledBy()
	if !f.own.there || !f.guard.there {
		return r, fmt.Errorf("table %s or its guard %s is not there; `consumer sink ddl` prints statements that make them", t.name, t.guardName())
	}
	if c, there := f.guard.column(rowKeyColumn); there {
		r.From = c.Comment
	}
	switch former := (&table{rule: config.SinkKeyFeature}).filledBy(); {
	case r.From == r.To:
		r.Unchanged = true
	case !t.claims:
		return r, fmt.Errorf("table %s goes by %q and cannot go back to the record key; make another table, and read the source again", t.name, r.From)
	case r.From != "sink.key: "+string(config.SinkKeyRecord) && r.From != former:
		return r, fmt.Errorf("table %s goes by %q, which does not keep the record keys; make another table, and read the source again", t.name, r.From)
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
