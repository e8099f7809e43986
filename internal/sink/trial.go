package sink

import (
	"errors"
	"slices"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// How a batch is divided: after an immediate failure in halves; after a timeout in more parts, of which all but one are
// likely to pass.
const (
	halves = 2
	parts  = 8
)

// hopeless is how many records may fail alone, while none passes, before the others of their batch are no longer tried.
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

// settle answers the failed records. A record's own failure is its answer once the table was read again: a change
// meanwhile (an SRID, a privilege) may be the reason. An unexplained failure is the record's own if others have passed
// since the record first met it; until then it waits.
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
	if isHeld(err) {
		return false
	}
	f := s.classify(err)
	return !f.Transient() || f.Category == classify.CategoryMemory || s.slow(err)
}

// slow reports whether a failure is a timeout.
func (s *Sink) slow(err error) bool { return s.classify(err).Code == classify.CodeTimeout }

// blames says whether a failure is about to become the record's own.
func (s *Sink) blames(err error) bool { return !isHeld(err) && !s.classify(err).Transient() }

// vague says whether a failure may be the table's as well as the record's: what no list knows, an internal error, a privilege, a
// name that is not there, such as one that a trigger uses.
func (s *Sink) vague(err error) bool {
	_, lack := errors.AsType[*lackError](err)
	return s.blames(err) && !lack && s.classify(err).Level != classify.LevelRow
}
