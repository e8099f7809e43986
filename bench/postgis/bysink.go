package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// dsnEnv is the variable with the sink's connection string.
const dsnEnv = "SWITCHBACK_BENCH_POSTGIS_DSN"

// pipeline is a pipeline file with defaults only.
const pipeline = `
pipeline:
  id: bench
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 502, 503, 504] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
sink: { postgis: { dsn_env: ` + dsnEnv + `, table: %s } }
transform: { unmapped: drop }
`

// bySink uses the sink as a consumer does: each record waits for its own write.
type bySink struct {
	sink    *sink.Sink
	writers int
}

// tables creates the sink's table and guard with the statements of `sink ddl`, and an equal table for the hand-written
// loop.
func tables(ctx context.Context, pool *pgxpool.Pool, name, other string) (*config.Config, error) {
	cfg, err := config.Parse("bench.yaml", fmt.Appendf(nil, pipeline, name), os.Getenv)
	if err != nil {
		return nil, err
	}
	cfg.Transform.Fields = attributes()
	cfg.Transform.Geometry.Dimension = transform.DimensionDropZ
	ddl, err := sink.DDL(cfg)
	if err != nil {
		return nil, err
	}
	_, err = pool.Exec(ctx, fmt.Sprintf("drop table if exists %[1]s, %[1]s_switchback, %[2]s; %[3]s create table %[2]s (like %[1]s including all)", name, other, ddl))
	return cfg, err
}

func newBySink(cfg *config.Config, writers int) (*bySink, error) {
	s, err := sink.Open(cfg, slog.New(slog.DiscardHandler))
	return &bySink{s, writers}, err
}

// write writes events with this many concurrent writers and returns the time that it took.
func (b *bySink) write(ctx context.Context, events []event) (time.Duration, error) {
	rows := make([]*sink.Row, len(events))
	for i, e := range events {
		rows[i] = e.row()
	}
	began := time.Now()
	next := make(chan *sink.Row, len(rows))
	for _, r := range rows {
		next <- r
	}
	close(next)
	var writers sync.WaitGroup
	var once sync.Once
	var failed error
	for range b.writers {
		writers.Go(func() {
			for r := range next {
				if err := b.sink.Write(ctx, []*sink.Row{r}); err != nil {
					once.Do(func() { failed = err })
				}
			}
		})
	}
	writers.Wait()
	return time.Since(began), failed
}
