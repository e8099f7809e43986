package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchback-geo/switchback/pkg/geometry"
)

// byHand is a hand-written loop: COPY into a temporary table, then one upsert, in one transaction.
type byHand struct {
	pool    *pgxpool.Pool
	columns []string
	upsert  string
	batch   int
}

// newByHand creates the loop for a table. The staging table is created once for each connection, and is empty after each
// commit.
func newByHand(ctx context.Context, dsn, table string, batch, connections int) (*byHand, error) {
	h := &byHand{batch: batch, columns: []string{"id"}}
	var sets []string
	for _, f := range attributes() {
		h.columns = append(h.columns, f.To)
	}
	h.columns = append(h.columns, "geom")
	for _, name := range h.columns[1:] {
		sets = append(sets, fmt.Sprintf("%q = excluded.%[1]q", name))
	}
	list := `"` + strings.Join(h.columns, `", "`) + `"`
	h.upsert = fmt.Sprintf("insert into %s (%s) select %[2]s from staging on conflict (id) do update set %[3]s", table, list, strings.Join(sets, ", "))
	c, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("the connection string: %w", err)
	}
	c.MaxConns = int32(connections)
	c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, fmt.Sprintf("create temp table staging on commit delete rows as select %s from %s limit 0", list, table))
		return err
	}
	h.pool, err = pgxpool.NewWithConfig(ctx, c)
	return h, err
}

// write writes events in batches and returns the time that it took.
func (h *byHand) write(ctx context.Context, events []event) (time.Duration, error) {
	began := time.Now()
	batches := make(chan []event)
	var workers sync.WaitGroup
	var once sync.Once
	var failed error
	for range h.pool.Config().MaxConns {
		workers.Go(func() {
			for batch := range batches {
				if err := h.one(ctx, batch); err != nil {
					once.Do(func() { failed = err })
				}
			}
		})
	}
	for batch := range slices.Chunk(events, h.batch) {
		batches <- batch
	}
	close(batches)
	workers.Wait()
	return time.Since(began), failed
}

func (h *byHand) one(ctx context.Context, batch []event) error {
	return pgx.BeginFunc(ctx, h.pool, func(tx pgx.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"staging"}, h.columns, pgx.CopyFromSlice(len(batch), func(i int) ([]any, error) {
			e := &batch[i]
			place, err := geometry.Append(nil, geometry.EWKB, geometry.Geometry{Shape: e.feature.Geometry.Shape, SRID: 4326})
			values := append(append(make([]any, 0, len(h.columns)), e.key), e.values...)
			updated, parseErr := time.Parse(time.RFC3339, e.values[len(e.values)-1].(string))
			if err == nil {
				err = parseErr
			}
			values[len(values)-1] = updated
			return append(values, place), err
		}))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, h.upsert)
		return err
	})
}
