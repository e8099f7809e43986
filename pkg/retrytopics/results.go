package retrytopics

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// results keeps what handlers made of records whose partition went away before it was committed, with the session or by a
// rebalance: if the record comes back uncommitted, its handler need not run again. Only the handler's word is kept. What
// follows from it is decided again, since another instance may have changed the state of the key meanwhile. Safe for
// concurrent use.
type results struct {
	limit int // bytes of outputs
	some  atomic.Bool

	mu    sync.Mutex
	bytes int
	made  map[header.Position]made
}

// made is what a handler said of a record.
type made struct {
	result Result
	err    error
	bytes  int
}

func newResults(limit int) *results { return &results{limit: limit, made: map[header.Position]made{}} }

// keep remembers the result of a task that is finished and not committed. What was closed for the state of its key is judged
// again: other records of the key may come before it next time. So is an attempt that ran out of time: what took the session
// away, such as a process that slept, may have taken the time as well, and it would spend the last attempt of a good record.
func (r *results) keep(t *task) {
	if o := t.event.Decision.Outcome; !t.handled || o == policy.OutcomeDuplicate || o == policy.OutcomeSuperseded {
		return
	}
	m := made{result: t.result, bytes: t.weight}
	if t.event.Failure != nil {
		m.err = t.event.Failure.Err
	}
	if errors.Is(m.err, context.DeadlineExceeded) {
		return
	}
	for _, out := range m.result.Outputs {
		m.bytes += size(out)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes+m.bytes > r.limit { // much of it may be of records that another instance has by now
		clear(r.made)
		r.bytes = 0
	}
	at := t.record.Position
	r.bytes += m.bytes - r.made[at].bytes
	r.made[at] = m
	r.some.Store(true)
}

// pop gives back what is known of a record, once.
func (r *results) pop(at header.Position) (m made, ok bool) {
	if !r.some.Load() {
		return made{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok = r.made[at]
	if !ok {
		return made{}, false
	}
	delete(r.made, at)
	r.bytes -= m.bytes
	r.some.Store(len(r.made) > 0)
	return m, true
}
