package postgis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// template is the database with PostGIS that tests' databases are copied from. The number is a lock for its creation,
// for test processes that share a server.
const (
	template     = "switchback_template"
	templateLock = 7_349_127_106
)

// Database creates a database with PostGIS for one test, returns its DSN, and drops it when the test ends. It copies a
// template, because CREATE EXTENSION postgis takes four times as long.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(externalBound))
	defer cancel()
	if err := s.makeTemplate(ctx); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	name := fmt.Sprintf("switchback_%016x", rand.Uint64())
	if err := exec(ctx, s.dsn.String(), "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	t.Cleanup(func() { s.drop(t, name) })
	return s.database(name)
}

// Prepare creates the template and returns the DSN for SWITCHBACK_TEST_POSTGIS_DSN.
func (s *Server) Prepare(ctx context.Context) (dsn string, err error) {
	return s.dsn.String(), s.makeTemplate(ctx)
}

// database returns the DSN of a database of the server.
func (s *Server) database(name string) string {
	dsn := *s.dsn
	dsn.Path = "/" + name
	return dsn.String()
}

// makeTemplate creates the template unless the server has it. A template gets its name when it is complete.
func (s *Server) makeTemplate(ctx context.Context) error {
	s.templating.Lock()
	defer s.templating.Unlock()
	if s.templated {
		return nil
	}
	db, err := pgx.Connect(ctx, s.dsn.String())
	if err != nil {
		return err
	}
	defer db.Close(context.WithoutCancel(ctx)) // releases the lock
	if _, err := db.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return fmt.Errorf("lock the template database: %w", err)
	}
	var there bool
	if err := db.QueryRow(ctx, "SELECT count(*) > 0 FROM pg_database WHERE datname = $1", template).Scan(&there); err != nil {
		return fmt.Errorf("find the template database: %w", err)
	}
	if !there {
		const draft = template + "_draft"
		for _, step := range []struct{ dsn, sql string }{
			{s.dsn.String(), "DROP DATABASE IF EXISTS " + draft + " WITH (FORCE)"},
			{s.dsn.String(), "CREATE DATABASE " + draft},
			{s.database(draft), "CREATE EXTENSION postgis"},
			{s.dsn.String(), "ALTER DATABASE " + draft + " RENAME TO " + template},
		} {
			if err := exec(ctx, step.dsn, step.sql); err != nil {
				return err
			}
		}
	}
	s.templated = true
	return nil
}

// drop removes a test's database. If the test has stopped the server, there is nothing to do: the whole cluster is
// removed.
func (s *Server) drop(t testing.TB, name string) {
	if s.own != nil && !s.own.running() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), testrun.Patient(10*time.Second))
	defer cancel()
	if err := exec(ctx, s.dsn.String(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		t.Errorf("%s: %v", s, err)
	}
}

func exec(ctx context.Context, dsn, sql string) error {
	db, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	defer db.Close(ctx)
	if _, err := db.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}
