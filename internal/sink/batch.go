package sink

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/outage"
	"github.com/switchback-geo/switchback/internal/postgres"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// mostBytes is how much GeoJSON one batch has, unless a single record has more.
const mostBytes = 8 << 20

// job is the rows of one record on their way.
type job struct {
	ctx   context.Context
	rows  []*Row
	bytes int
	done  chan error // has room for the one answer
}

// run writes batch after batch: whatever waits when a connection is free, so that batches grow with the load and a single
// record never waits for others.
func (s *Sink) run() {
	for {
		select {
		case <-s.closing:
			return
		case first := <-s.jobs:
			s.write(s.gather(first))
		}
	}
}

func (s *Sink) gather(first *job) []*job {
	batch, bytes := []*job{first}, first.bytes
	for len(batch) < s.most && bytes < mostBytes {
		select {
		case j := <-s.jobs:
			batch, bytes = append(batch, j), bytes+j.bytes
		default:
			return batch
		}
	}
	return batch
}

// write writes a batch, and answers each of its records. A failure that one record may be the reason of, or that a smaller
// batch may not meet, is met by halves.
func (s *Sink) write(batch []*job) {
	batch = slices.DeleteFunc(batch, abandoned)
	if len(batch) == 0 {
		return
	}
	err := s.guarded(batch)
	if err != nil && len(batch) > 1 && s.divides(err) {
		s.write(batch[:len(batch)/2])
		s.write(batch[len(batch)/2:])
		return
	}
	for _, j := range batch {
		j.done <- err
	}
}

// divides says whether a smaller batch may fare better than one that failed so. What the database cannot explain (an
// extension's error, a number that no list has) may be one record's doing as well.
func (s *Sink) divides(err error) bool {
	if _, one := errors.AsType[*transform.Error](err); one {
		return true
	}
	f := s.classify(err)
	return f.Level == classify.LevelRow || f.Category == classify.CategoryMemory || f.Code == classify.CodeDBInternal || f.Code == classify.CodeUnknown
}

// abandoned says whether nobody waits for a record's write any more.
func abandoned(j *job) bool { return j.ctx.Err() != nil }

// guarded writes a batch when the database may be asked, and tells the breaker how it went. What collided with another
// transaction is written once more at once.
func (s *Sink) guarded(batch []*job) (err error) {
	leave, err := s.breaker.Enter()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout) // it is the batch's, whatever becomes of single records
	defer cancel()
	defer func() {
		err = s.breaker.Leave(ctx, leave, outage.Judge(err, s.classify), err)
	}()
	if err = s.once(ctx, batch); err != nil && s.classify(err).Class == classify.RetryNow {
		err = classify.WithClass(classify.RetryBackoff, s.once(ctx, batch))
	}
	return err
}

// once writes a batch in one transaction. A table that is not what it was when it was read is read again and written once more.
func (s *Sink) once(ctx context.Context, batch []*job) error {
	var rows []*Row
	for _, j := range batch {
		rows = append(rows, j.rows...)
	}
	known := s.table.Load() != nil
	err := s.attempt(ctx, rows)
	if err != nil && known && s.table.Load() == nil {
		err = s.attempt(ctx, rows)
	}
	return err
}

func (s *Sink) attempt(ctx context.Context, rows []*Row) error {
	began := time.Now()
	known, err := s.fitting(ctx, rows)
	if err != nil {
		return s.asked(began, err)
	}
	rows = newest(rows)
	took, deleted, err := s.send(ctx, known, rows)
	s.tally.batch(time.Since(began), len(rows), took, deleted, err)
	if err == nil {
		return nil
	}
	if postgres.WriteRefused(err) {
		s.db.Reset() // the next connections find the server that has taken over
	}
	err = refused(s.db.Lost(err))
	if s.classify(err).Code == classify.CodeDBSchema {
		s.table.Store(nil) // it is not what it was; who writes next asks
	}
	return s.asked(began, err)
}

// send gives how many rows were not older than what was there, and how many of them were deletes.
func (s *Sink) send(ctx context.Context, known *reading, rows []*Row) (took, deleted int, err error) {
	gone := deletedKeys(rows)
	if len(gone) == 0 {
		err = s.db.QueryRow(ctx, known.statement, known.arguments(rows)...).Scan(&took, &deleted)
		return took, deleted, err
	}
	var both pgx.Batch // one transaction: what is sent together without a begin
	both.Queue(known.statement, known.arguments(rows)...).QueryRow(func(row pgx.Row) error { return row.Scan(&took, &deleted) })
	both.Queue(known.removal, gone)
	err = s.db.SendBatch(ctx, &both).Close()
	return took, deleted, err
}

// fitting gives the table when it can hold the rows. Before one is refused the database is asked again: somebody may have
// added the column.
func (s *Sink) fitting(ctx context.Context, rows []*Row) (*reading, error) {
	asked := s.table.Load() == nil
	for {
		known, err := s.read(ctx)
		if err != nil {
			return nil, err
		}
		fault := known.checkAll(rows)
		if fault == nil || asked {
			return known, fault
		}
		s.table.Store(nil)
		asked = true
	}
}

// asked says with a failure whom the sink asked.
func (s *Sink) asked(began time.Time, err error) error {
	return classify.WithRequest(classify.Request{Step: Dependency, URL: s.db.URL, TookMS: classify.Milliseconds(time.Since(began))}, err)
}
