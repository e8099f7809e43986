package retrytopics

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// results keeps the handlers' answers for records whose partition went away before the commit, with the session or by a
// rebalance. If the record comes back uncommitted, its handler need not run again. Only the answer is kept; it is judged
// again, because another instance may have changed the key's state meanwhile. Safe for concurrent use.
type results struct {
	limit int // bytes of outputs
	some  atomic.Bool

	mu    sync.Mutex
	bytes int
	made  map[header.Position]made
}

// made is a handler's answer for a record.
type made struct {
	result Result
	err    error
	bytes  int
}

func newResults(limit int) *results { return &results{limit: limit, made: map[header.Position]made{}} }

// keep stores the result of a task that is finished and not committed. A record that was closed because of its key's
// state runs again: other records of the key may come first next time. So does an attempt that ran out of time: the
// cause, such as a suspended process, may also have ended the session, and would otherwise spend the last attempt of a
// good record.
func (r *results) keep(t *task) {
	if o := t.event.Decision.Outcome; !t.handled || o == policy.OutcomeDuplicate || o == policy.OutcomeSuperseded {
		return
	}
	m := made{result: t.result, bytes: t.Weight}
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

// pop removes and returns what is kept of a record.
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
