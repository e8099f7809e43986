package sink

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/postgres"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// How a batch is divided: after an immediate failure in halves; after a timeout in more parts, of which all but one are
// likely to pass.
const (
	halves = 2
	parts  = 8
)

// hopeless is how many records may fail alone, while none succeeds, before the remaining records of their batch are
// given up.
const hopeless = 5

// trial is one batch until each of its records has its answer. It belongs to one writer.
type trial struct {
	sink   *Sink
	failed []failure
	passed int // records
	vague  int // records that failed alone for a reason that may be the table's
}

// failure is a record that failed, with others or alone.
type failure struct {
	job  *job
	err  error
	from uint64 // how many batches of the sink had passed when its attempt began
}

// write writes records in one transaction. It divides them after a failure that one record may have caused, or that a
// smaller batch may avoid (S4-3, S0-4).
func (t *trial) write(batch []*job, whole bool) {
	batch = slices.DeleteFunc(batch, abandoned)
	if len(batch) == 0 {
		return
	}
	s := t.sink
	from := s.passes.Load()
	if t.passed == 0 && t.vague >= hopeless {
		t.fail(batch, t.failed[len(t.failed)-1].err, from)
		return
	}
	err := s.guarded(batch, whole)
	if err == nil {
		t.passed += len(batch)
		s.suspects.forget(batch)
		answer(batch, nil)
		return
	}
	if len(batch) > 1 && t.divide(batch, err) {
		return
	}
	if s.vague(err) {
		t.vague++
		s.suspects.note(batch[0].id(), s.passes.Load())
	}
	t.fail(batch, err, from)
}

func (t *trial) fail(batch []*job, err error, from uint64) {
	for _, j := range batch {
		t.failed = append(t.failed, failure{j, err, from})
	}
}

// divide writes a batch in parts, if that may help against its failure.
func (t *trial) divide(batch []*job, err error) bool {
	free, waited := lockedOut(batch, err)
	switch {
	case len(waited) > 0:
		t.fail(waited, err, t.sink.passes.Load()) // they have waited as long as a row may
		t.write(free, false)
	case t.sink.divides(err):
		n := halves
		if t.sink.slow(err) {
			n = parts
		}
		for part := range slices.Chunk(batch, (len(batch)+n-1)/n) {
			t.write(slices.Clone(part), false)
		}
	default:
		return false
	}
	return true
}

// lockedOut separates the records whose rows another transaction has locked from the others.
func lockedOut(batch []*job, err error) (free, waited []*job) {
	keys, _ := lockedRows(err)
	for _, j := range batch {
		if slices.ContainsFunc(j.rows, func(r *Row) bool { return keys[string(r.Key)] }) {
			waited = append(waited, j)
		} else {
			free = append(free, j)
		}
	}
	return free, waited
}

// settle answers the failed records. A record's own failure is final once the table was read again: a change
// meanwhile (an SRID, a privilege) may be the reason. An unexplained failure is the record's own if others have
// succeeded since it first occurred; until then the record waits.
func (t *trial) settle() {
	s := t.sink
	if len(t.failed) == 0 {
		return
	}
	if slices.ContainsFunc(t.failed, func(f failure) bool { return s.blames(f.err) }) {
		if _, err := s.look(0); err != nil {
			for i, f := range t.failed {
				if s.blames(f.err) {
					t.failed[i].err = err
				}
			}
		}
	}
	for _, f := range t.failed {
		f.job.done <- t.verdict(f)
	}
}

// verdict returns the answer of one record.
func (t *trial) verdict(f failure) error {
	s, id := t.sink, f.job.id()
	if !s.vague(f.err) {
		return s.deferred(f.err)
	}
	seen := s.suspects.note(id, s.passes.Load())
	if from := s.passes.Load(); f.from <= seen && from > seen {
		f.from, f.err = from, s.guarded([]*job{f.job}, false)
	}
	switch {
	case f.err == nil:
		s.suspects.forget([]*job{f.job})
		return nil
	case !s.vague(f.err):
		return s.deferred(f.err)
	case f.from > seen:
		s.suspects.forget([]*job{f.job})
		return f.err
	}
	return s.doubted(f.err)
}

// divides reports whether a smaller batch may avoid such a failure.
func (s *Sink) divides(err error) bool {
	if isDeferral(err) {
		return false
	}
	f := s.classify(err)
	return !f.Transient() || f.Category == classify.CategoryMemory || s.slow(err)
}

// slow reports whether a failure is a timeout.
func (s *Sink) slow(err error) bool { return s.classify(err).Code == classify.CodeTimeout }

// blames reports whether a failure is about to become the record's own.
func (s *Sink) blames(err error) bool { return !isDeferral(err) && !s.classify(err).Transient() }

// vague reports whether a failure may be the table's as well as the record's: an unlisted code, an internal error, a
// privilege, or a missing name, such as one in a trigger.
func (s *Sink) vague(err error) bool {
	_, lack := errors.AsType[*lackError](err)
	return s.blames(err) && !lack && s.classify(err).Level != classify.LevelRow
}

// firstDoubt is how long a record waits whose failure may be its own. Meanwhile others are likely to pass, which proves
// it.
const firstDoubt = time.Second

// pauses reports whether nothing can be written until an operator acts: the table does not fit, the login is refused,
// the disk is full. One failure is sufficient evidence.
func pauses(err error, classifier func(error) classify.Failure) bool {
	if _, table := errors.AsType[*TableError](err); table {
		return true
	}
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == "53100" {
		return true
	}
	return postgres.Connecting(err) && !classifier(err).Transient()
}

// Deferrable reports whether a consumer can start with an error of [Sink.Prepare]: the database does not answer, or
// refuses the login, so nothing is known of the table. Records then wait for it as they do while the consumer runs.
func Deferrable(err error) bool {
	return postgres.Connecting(err) || classify.Of(err).Transient()
}

// leave reports the result of a request to the breaker, and returns its records' error.
func (s *Sink) leave(ctx context.Context, pass breaker.Pass, err error) error {
	end := breaker.Judge(err, s.classify)
	_, row := lockedRows(err)
	switch {
	case err == nil:
	case pauses(err, s.classify):
		s.table.Store(nil)
		return s.breaker.Trip(ctx, pass, err)
	case row != nil:
		end = breaker.Success // it works for all other rows
	case s.vague(err) && pass.Probe:
		end = breaker.Failure
	case s.vague(err):
		end = breaker.Ignored // until it is known whose failure it is
	}
	return s.breaker.Leave(ctx, pass, end, err)
}

// deferred converts a lack of the table to an UnavailableError of the record. Records that do not need the missing
// column continue.
func (s *Sink) deferred(err error) error {
	if errors.Is(err, errClaimed) {
		return classify.WithClass(classify.RetryBackoff, err) // the row may become free: a delete is on its way
	}
	lack, is := errors.AsType[*lackError](err)
	if !is || isDeferral(err) {
		return err
	}
	s.lacks.warn(lack)
	return &retrytopics.UnavailableError{Dependency: Dependency + "/" + lack.column, RetryAt: time.Now().Add(s.cooldown), Err: err}
}

// doubted defers a record whose failure may be the table's, and counts it for the breaker.
func (s *Sink) doubted(err error) error {
	wait := firstDoubt
	if pass, closed := s.breaker.Enter(); closed == nil {
		err = s.breaker.Leave(context.Background(), pass, breaker.Failure, err)
	} else {
		wait = s.cooldown
	}
	if isDeferral(err) {
		return err
	}
	return s.breaker.Defer(wait, err)
}

func isDeferral(err error) bool {
	_, is := errors.AsType[*retrytopics.UnavailableError](err)
	return is
}

// mostSuspects limits the memory. A forgotten suspect waits one more time.
const mostSuspects = 4096

// suspects stores which events failed for a reason that may be the table's, and how many batches had passed by then.
type suspects struct {
	mu   sync.Mutex
	seen map[string]uint64
}

// note returns how many batches had passed when the event was first noted; now, if this is the first time.
func (s *suspects) note(id string, now uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, known := s.seen[id]; known {
		return first
	}
	if s.seen == nil || len(s.seen) >= mostSuspects {
		s.seen = map[string]uint64{}
	}
	s.seen[id] = now
	return now
}

func (s *suspects) forget(batch []*job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		return
	}
	for _, j := range batch {
		delete(s.seen, j.id())
	}
}

// refused marks PostGIS's error about a geometry as a failure of its record. PostGIS uses the number of internal errors
// (XX000), so only the source file of the message distinguishes them from those of a broken server.
func refused(err error) error {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if ok && pgErr.Code == "XX000" && strings.HasPrefix(pgErr.File, "lwgeom_") {
		return classify.WithCode(classify.CodeDBData, classify.StageSink, err)
	}
	return err
}
