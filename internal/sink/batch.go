package sink

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/postgres"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// mostBytes is the size of one batch, unless a single record is larger.
const mostBytes = 8 << 20

// job is the rows of one record that wait to be written.
type job struct {
	ctx   context.Context
	rows  []*Row
	bytes int
	done  chan error // has room for the one answer
}

// abandoned reports whether the caller of a record's write has stopped waiting.
func abandoned(j *job) bool { return j.ctx.Err() != nil }

// id identifies the event of the rows.
func (j *job) id() string { return j.rows[0].Source }

// linger is how long a batch waits for more records while another one is being written. The records would wait for the
// database anyway, and one large transaction costs it much less than many small ones.
const linger = 5 * time.Millisecond

// run writes batch after batch, so that batches grow with the load and a single record never waits for others.
func (s *Sink) run() {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for {
		select {
		case <-s.closing:
			return
		case first := <-s.jobs:
			batch := s.gather(first, timer)
			s.busy.Add(1)
			s.write(batch)
			s.busy.Add(-1)
		}
	}
}

// gather returns the waiting jobs, up to a full batch; the timer belongs to the writer.
func (s *Sink) gather(first *job, timer *time.Timer) []*job {
	batch, bytes := append(make([]*job, 0, s.limit), first), first.bytes
	timer.Reset(linger)
	for len(batch) < s.limit && bytes < mostBytes {
		select {
		case j := <-s.jobs:
			batch, bytes = append(batch, j), bytes+j.bytes
			continue
		default:
		}
		if s.busy.Load() == 0 {
			return batch
		}
		select {
		case j := <-s.jobs:
			batch, bytes = append(batch, j), bytes+j.bytes
		case <-timer.C:
			return batch
		case <-s.closing:
			return batch
		}
	}
	return batch
}

// write writes a batch, and answers each of its records.
func (s *Sink) write(batch []*job) {
	batch = s.fitting(slices.DeleteFunc(batch, abandoned))
	if len(batch) == 0 {
		return
	}
	t := &trial{sink: s}
	t.write(batch, true)
	t.settle()
}

// fitting refuses the records that do not fit the table, and returns the others. Before it refuses one, it reads the
// table's description again, because the table may have been altered.
func (s *Sink) fitting(batch []*job) []*job {
	if len(batch) == 0 {
		return nil
	}
	known, err := s.look(s.refreshAge)
	if err == nil && slices.ContainsFunc(batch, func(j *job) bool { return known.checkAll(j.rows) != nil }) {
		known, err = s.look(freshAge)
	}
	if err != nil {
		answer(batch, err)
		return nil
	}
	return slices.DeleteFunc(batch, func(j *job) bool {
		fault := known.checkAll(j.rows)
		if fault == nil {
			return false
		}
		j.done <- s.deferred(s.withRequest(time.Now(), fault))
		return true
	})
}

func answer(batch []*job, err error) {
	for _, j := range batch {
		j.done <- err
	}
}

// look returns the table's description, at most so old, if the breaker allows a question. It does not close an open
// breaker, because rows may be refused nevertheless.
func (s *Sink) look(age time.Duration) (*reading, error) {
	if known := s.table.Load(); known != nil && time.Since(known.at) < age {
		return known, nil
	}
	pass, err := s.breaker.Enter()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout) // shared by all, independent of single records
	defer cancel()
	began := time.Now()
	known, err := s.known(ctx, age)
	if err == nil {
		return known, s.breaker.Leave(ctx, pass, breaker.Ignored, nil)
	}
	return nil, s.leave(ctx, pass, s.withRequest(began, err))
}

// guarded writes a batch if the breaker allows it, and reports the result to the breaker. It retries a collision with
// another transaction once, at once.
func (s *Sink) guarded(batch []*job, whole bool) error {
	return s.behindBreaker(func(ctx context.Context) error {
		rows := rowsOf(batch)
		err := s.twice(ctx, func(ctx context.Context) error { return s.once(ctx, rows, whole) })
		if err != nil && s.slow(err) {
			return s.waits(err, rows)
		}
		return err
	})
}

// behindBreaker runs do if the breaker allows it, and reports the result to the breaker.
func (s *Sink) behindBreaker(do func(context.Context) error) error {
	pass, err := s.breaker.Enter()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout) // the batch's own, independent of single records
	defer cancel()
	return s.leave(ctx, pass, do(ctx))
}

// twice runs do, and runs it again at once after a collision with another transaction.
func (s *Sink) twice(ctx context.Context, do func(context.Context) error) error {
	err := do(ctx)
	if err != nil && s.classify(err).Class == classify.RetryNow {
		return classify.WithClass(classify.RetryBackoff, do(ctx))
	}
	return err
}

func rowsOf(batch []*job) []*Row {
	var rows []*Row
	for _, j := range batch {
		rows = append(rows, j.rows...)
	}
	return newest(rows)
}

// once writes rows in one transaction. If the failure may be the table's, it reads the table's description; if that
// changed, it writes the rows again.
func (s *Sink) once(ctx context.Context, rows []*Row, whole bool) error {
	before := s.table.Load()
	err := s.attempt(ctx, rows)
	if err == nil || s.classify(err).Transient() || pauses(err, s.classify) {
		return err
	}
	changed := s.classify(err).Code == classify.CodeDBSchema // for example a prepared statement that no longer fits
	if !changed && !whole {
		return err
	}
	began := time.Now()
	now, lost := s.known(ctx, 0)
	if lost != nil {
		return s.withRequest(began, lost)
	}
	if changed || !now.same(before) {
		return s.attempt(ctx, rows)
	}
	return err
}

func (s *Sink) attempt(ctx context.Context, rows []*Row) error {
	began := time.Now()
	known, err := s.known(ctx, s.refreshAge)
	if err == nil {
		err = known.checkAll(rows)
	}
	if err != nil {
		return s.withRequest(began, err)
	}
	done, err := s.send(ctx, known, rows)
	s.tally.batch(time.Since(began), len(rows), done.took, done.deleted, err)
	if err == nil {
		if done.took > done.deleted {
			s.passes.Add(1)
		}
		return nil
	}
	if postgres.WriteRefused(err) {
		s.db.Reset() // the next connections find the server that has taken over
	}
	return s.withRequest(began, refused(s.db.Lost(err)))
}

// done is the result of a batch: rows that were not older than the guard's, and how many of these were deletes.
type done struct{ took, deleted int }

// send writes rows in one transaction.
func (s *Sink) send(ctx context.Context, known *reading, rows []*Row) (done, error) {
	d, err := s.transact(ctx, known, rows)
	if err = known.claimed(err); errors.Is(err, errClaimed) {
		// Another instance may have written the same record key for the first time at the same moment. That instance has
		// committed by now, so the second try finds the key, and only a row of another key fails again.
		d, err = s.transact(ctx, known, rows)
	}
	return d, known.claimed(err)
}

// withRequest adds the sink's request to a failure.
func (s *Sink) withRequest(began time.Time, err error) error {
	return classify.WithRequest(classify.Request{Step: Dependency, URL: s.db.URL, TookMS: classify.Milliseconds(time.Since(began))}, err)
}
