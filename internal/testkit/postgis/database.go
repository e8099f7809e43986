package postgis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Database makes a database with the extension postgis for one test, returns its
// DSN, and drops it when the test ends.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), externalBound)
	defer cancel()
	name := fmt.Sprintf("switchback_%016x", rand.Uint64())
	if err := exec(ctx, s.dsn.String(), "CREATE DATABASE "+name); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	t.Cleanup(func() { s.drop(t, name) })
	dsn := *s.dsn
	dsn.Path = "/" + name
	if err := exec(ctx, dsn.String(), "CREATE EXTENSION postgis"); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return dsn.String()
}

// drop removes a test's database. One that went with its cluster, or whose
// server the test left stopped, is none to remove.
func (s *Server) drop(t testing.TB, name string) {
	if s.own != nil && !s.own.running() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
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
