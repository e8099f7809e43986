package sink

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/postgres"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// Dependency is the name by which records are deferred while the database is down.
const Dependency = "sink"

// Sink is one table. Its methods are safe for concurrent use.
type Sink struct {
	db       *postgres.Database
	breaker  *breaker.Guard
	classify func(error) classify.Failure
	timeout  time.Duration
	cooldown time.Duration // of the breaker
	limit    int           // records of a batch

	table    atomic.Pointer[reading] // nil until the database has described the table
	asks     sync.Mutex              // locked while one goroutine reads the description
	plain    table                   // used before that
	passes   atomic.Uint64           // batches that wrote a row
	busy     atomic.Int64            // batches that are being written
	encoders sync.Pool               // of *encoder: a batch has hundreds of KiB
	suspects suspects
	lacks    lacks

	jobs       chan *job
	repeats    chan *repeatJob
	closing    chan struct{}
	writers    sync.WaitGroup
	tally      tally
	refreshAge time.Duration // largest age of a reading of the table for writing
}

// Open starts the writers of a pipeline's table. It connects at the first write. log gets a line when the breaker opens and closes.
func Open(cfg *config.Config, log *slog.Logger) (*Sink, error) {
	t, err := newTable(cfg)
	if err != nil {
		return nil, err
	}
	c := cfg.Sink.PostGIS
	timeout := c.Timeout.Std()
	db, err := postgres.Open(c.DSN, postgres.Options{
		Key: "sink.postgis", Timeout: timeout, MaxConnections: c.MaxConnections,
		Parameters: map[string]string{"statement_timeout": strconv.FormatInt(postgres.StatementTimeout(timeout).Milliseconds(), 10)},
	})
	if err != nil {
		return nil, err
	}
	log = log.With("sink", c.Table)
	s := &Sink{
		db: db, breaker: breaker.NewGuard(Dependency, &c.Breaker, log), classify: classify.New(cfg.Pipeline.RetryPolicy.Classification()).Of,
		timeout: timeout, cooldown: c.Breaker.Cooldown.Std(), lacks: lacks{log: log}, limit: c.MaxBatch, plain: *t, refreshAge: refreshAge,
		jobs: make(chan *job, c.MaxBatch), repeats: make(chan *repeatJob, c.MaxBatch), closing: make(chan struct{}),
	}
	s.tally.status.Table = c.Table
	for range c.MaxConnections {
		s.writers.Go(s.run)
	}
	s.writers.Go(s.confirm)
	return s, nil
}

// Close waits for the batches that are being written, and closes the connections. Write must not be called after it.
func (s *Sink) Close() {
	close(s.closing)
	s.writers.Wait()
	s.db.Close()
}

// Write writes the rows of one record, all or none. It returns once they are in the table, or its rows are newer. Its
// error is classified like any other; an *retrytopics.UnavailableError means that the database is down, or that the
// table must be changed first. If the context ends first, the rows may still be written.
func (s *Sink) Write(ctx context.Context, rows []*Row) error {
	if len(rows) == 0 {
		return nil
	}
	j := &job{ctx: ctx, rows: rows, done: make(chan error, 1)}
	for _, r := range rows {
		if err := s.plain.prepare(r); err != nil {
			return classify.WithStage(classify.StageSink, fmt.Errorf("feature %q: %w", r.Key, err))
		}
		j.bytes += r.Bytes
	}
	select {
	case s.jobs <- j:
	case <-ctx.Done():
		return fmt.Errorf("wait for a connection to %s: %w", s.db.What, ctx.Err())
	}
	select {
	case err := <-j.done:
		if err == nil {
			return nil
		}
		return classify.WithStage(classify.StageSink, err)
	case <-ctx.Done():
		return fmt.Errorf("write to %s: %w", s.db.What, ctx.Err())
	}
}

// Status is a snapshot of the sink's counters.
type Status struct {
	Table   string
	Circuit breaker.State
	// Written, Deleted and Older count rows: written as new or over an older state, deleted, and unchanged because
	// the table was not older.
	Written, Deleted, Older uint64
	// Failed counts the rows of batches that failed; a batch that is halved counts each time.
	Failed uint64
	// Batches counts attempts to write a batch, and Took is how long they took together.
	Batches uint64
	Took    time.Duration
}

type tally struct {
	mu     sync.Mutex
	status Status
}

// batch counts one attempt: the rows, those that were newer than the table's, and the deletes among these.
func (t *tally) batch(took time.Duration, rows, newer, deleted int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status.Batches++
	t.status.Took += took
	if err != nil {
		t.status.Failed += uint64(rows)
		return
	}
	t.status.Written += uint64(newer - deleted)
	t.status.Deleted += uint64(deleted)
	t.status.Older += uint64(rows - newer)
}

// Status returns a snapshot. It is safe for concurrent use.
func (s *Sink) Status() Status {
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	now := s.tally.status
	now.Circuit = s.breaker.State()
	return now
}

// Retune changes the rule of the database's breaker while the sink works.
func (s *Sink) Retune(rule config.Breaker) { s.breaker.Retune(rule) }
