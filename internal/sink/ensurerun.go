package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/postgres"
)

// Ensured lists what was created, or would be.
type Ensured struct {
	Statements []string
	// Left are mismatches that creating something does not remove: statements that change existing objects are for a
	// person.
	Left []Mismatch
}

// Ensure creates the missing parts of the table, its guard and its columns, and changes nothing else, in one transaction
// except for an index on a table with rows. It may be repeated, also after an interruption. Without execute it only
// returns what it would do; Left is then what is known of an existing table.
func Ensure(ctx context.Context, cfg *config.Config, execute bool) (done Ensured, err error) {
	t, db, err := openDDL(cfg)
	if err != nil {
		return done, err
	}
	defer db.Close()
	e, err := t.existing(ctx, db)
	if err != nil {
		return done, fmt.Errorf("look at table %s: %w", t.name, err)
	}
	now, later := t.steps(cfg, e)
	done.Statements = append(slices.Clone(now), later...)
	if execute && len(done.Statements) > 0 {
		if err := makeAll(ctx, db, t.name, now, later); err != nil {
			return done, err
		}
		if e, err = t.existing(ctx, db); err != nil {
			return done, fmt.Errorf("look at table %s: %w", t.name, err)
		}
	}
	if e.own.there && e.guard.there {
		done.Left = slices.DeleteFunc(t.compare(e.facts), func(m Mismatch) bool { return !m.refuses() || !execute && t.makes(m, e) })
	}
	return done, nil
}

// openDDL opens the database for statements that change the table itself. They wait for locks no longer than
// sink.postgis.timeout.
func openDDL(cfg *config.Config) (*table, *postgres.Database, error) {
	c := cfg.Sink.PostGIS
	t, err := newTable(cfg)
	if err != nil {
		return nil, nil, err
	}
	db, err := postgres.Open(c.DSN, postgres.Options{
		Key: "sink.postgis", Timeout: c.Timeout.Std(), MaxConnections: 1,
		Parameters: map[string]string{"lock_timeout": strconv.FormatInt(c.Timeout.Std().Milliseconds(), 10)},
	})
	return t, db, err
}

// makes reports whether an added column removes a mismatch.
func (t *table) makes(m Mismatch, e existing) bool { return slices.Contains(t.added(e.own), m.Column) }

const (
	askPostGIS = "select exists (select from pg_extension where extname = 'postgis')"
	askIndexed = `select exists (select from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam
	join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
	where i.indrelid = to_regclass($1) and i.indisvalid and m.amname = 'gist' and a.attname = $2)`
)

// existing reads what exists. Without PostGIS there can be no table, and nothing else is read.
func (t *table) existing(ctx context.Context, db *postgres.Database) (e existing, err error) {
	if err := db.QueryRow(ctx, askPostGIS).Scan(&e.postgis); err != nil || !e.postgis {
		return e, db.Lost(err)
	}
	if e.facts, err = describe(ctx, db, t.quoted, t.guard); err != nil {
		return e, err
	}
	return e, db.Lost(db.QueryRow(ctx, askIndexed, t.quoted, t.geometry).Scan(&e.indexed))
}

// ensureLock keeps two runs from creating the same objects at once; the number is arbitrary.
const ensureLock = "select pg_advisory_xact_lock(7302114935)"

func makeAll(ctx context.Context, db *postgres.Database, table string, now, later []string) error {
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, ensureLock); err != nil {
			return err
		}
		for _, statement := range now {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return stated(table, statement, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("nothing was made: %w", db.Lost(err))
	}
	for _, statement := range later {
		_, err := db.Exec(ctx, statement)
		if said, ok := errors.AsType[*pgconn.PgError](err); ok && said.Code == notSupported { // for example a TimescaleDB hypertable, which looks like an ordinary table
			_, err = db.Exec(ctx, strings.Replace(statement, "index concurrently ", "index ", 1))
		}
		if err != nil {
			return fmt.Errorf("all else was made: %w", db.Lost(stated(table, statement, err)))
		}
	}
	return nil
}

// notSupported is the SQLSTATE of an operation that a kind of table does not support.
const notSupported = "0A000"

// stated names the statement that failed, and who may run it.
func stated(table, statement string, err error) error {
	first, _, _ := strings.Cut(statement, "\n")
	err = fmt.Errorf("%s: %w", strings.TrimSuffix(first, " ("), err)
	if said, ok := errors.AsType[*pgconn.PgError](err); ok && said.Code == "42501" {
		return fmt.Errorf("%w; run it as the owner of %s, or as a user who may create in its schema: `consumer sink ensure` without --execute prints the statements", err, table)
	}
	return err
}
