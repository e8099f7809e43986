package sink

import (
	"sync"
	"time"

	"github.com/switchback-geo/switchback/internal/breaker"
)

// Status is a snapshot of the sink's counters.
type Status struct {
	Table   string
	Circuit breaker.State
	// Written, Deleted and Older count rows: written first or over an older state, deleted, and unchanged because
	// nothing newer came.
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

// batch counts one attempt: of so many rows some were newer than the table's, and some of these deletes.
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
	now.Circuit, _ = s.breaker.State()
	return now
}
