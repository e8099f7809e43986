package sink

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/postgres"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// guarded writes a batch when the database may be asked, and tells the breaker how it went. What collided with another
// transaction is written once more at once.
func (s *Sink) guarded(batch []*job, whole bool) error {
	pass, err := s.breaker.Enter()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout) // it is the batch's, whatever becomes of single records
	defer cancel()
	rows := rowsOf(batch)
	err = s.once(ctx, rows, whole)
	if err != nil && s.classify(err).Class == classify.RetryNow {
		err = classify.WithClass(classify.RetryBackoff, s.once(ctx, rows, whole))
	}
	if err != nil && s.slow(err) {
		err = s.waits(err, rows)
	}
	return s.leave(ctx, pass, err)
}

func rowsOf(batch []*job) []*Row {
	var rows []*Row
	for _, j := range batch {
		rows = append(rows, j.rows...)
	}
	return newest(rows)
}

// once writes rows in one transaction. When the failure may be the table's, the table is looked at; one that is not what it was
// is written once more.
func (s *Sink) once(ctx context.Context, rows []*Row, whole bool) error {
	before := s.table.Load()
	err := s.attempt(ctx, rows)
	if err == nil || s.classify(err).Transient() || pauses(err, s.classify) {
		return err
	}
	changed := s.classify(err).Code == classify.CodeDBSchema // such as a prepared statement that does not fit any more
	if !changed && !whole {
		return err
	}
	began := time.Now()
	now, lost := s.known(ctx, 0)
	if lost != nil {
		return s.asked(began, lost)
	}
	if changed || !now.same(before) {
		return s.attempt(ctx, rows)
	}
	return err
}

func (s *Sink) attempt(ctx context.Context, rows []*Row) error {
	began := time.Now()
	known, err := s.known(ctx, refreshAge)
	if err == nil {
		err = known.checkAll(rows)
	}
	if err != nil {
		return s.asked(began, err)
	}
	took, deleted, err := s.send(ctx, known, rows)
	s.tally.batch(time.Since(began), len(rows), took, deleted, err)
	if err == nil {
		if took > deleted {
			s.passes.Add(1)
		}
		return nil
	}
	if postgres.WriteRefused(err) {
		s.db.Reset() // the next connections find the server that has taken over
	}
	return s.asked(began, refused(s.db.Lost(err)))
}

// send gives how many rows were not older than what was there, and how many of them were deletes. What is sent together without
// a begin is one transaction.
func (s *Sink) send(ctx context.Context, known *reading, rows []*Row) (took, deleted int, err error) {
	var all pgx.Batch
	all.Queue(setLockWait, s.lockWait())
	all.Queue(known.statement, known.arguments(rows)...).QueryRow(func(row pgx.Row) error { return row.Scan(&took, &deleted) })
	if gone := deletedKeys(rows); len(gone) > 0 {
		all.Queue(known.removal, gone)
	}
	err = s.db.SendBatch(ctx, &all).Close()
	return took, deleted, err
}

// asked says with a failure whom the sink asked.
func (s *Sink) asked(began time.Time, err error) error {
	return classify.WithRequest(classify.Request{Step: Dependency, URL: s.db.URL, TookMS: classify.Milliseconds(time.Since(began))}, err)
}

// isTable says whether a failure is one of the table as the database described it.
func isTable(err error) bool {
	_, is := errors.AsType[*TableError](err)
	return is
}
