package attempt

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Results keeps the handlers' answers for records whose partition went away before the commit, with the session or by a
// rebalance. If the record comes back uncommitted, its handler need not run again. Only the answer is kept; it is judged
// again, because another instance may have changed the key's state meanwhile. Safe for concurrent use.
type Results struct {
	limit int // bytes of outputs
	some  atomic.Bool

	mu    sync.Mutex // guards the following fields
	bytes int
	made  map[header.Position]Answer
}

// Answer is a handler's answer for a record.
type Answer struct {
	result retrytopics.Result
	Err    error
	bytes  int
}

// NewResults returns empty results that keep about limit bytes.
func NewResults(limit int) *Results {
	return &Results{limit: limit, made: map[header.Position]Answer{}}
}

// Keep stores the result of a task that is finished and not committed. A record that was closed because of its key's
// state runs again: other records of the key may come first next time. So does an attempt that ran out of time: the
// cause, such as a suspended process, may also have ended the session, and would otherwise spend the last attempt of a
// good record.
func (r *Results) Keep(t *Task) {
	if o := t.Event.Decision.Outcome; !t.Handled || o == policy.OutcomeDuplicate || o == policy.OutcomeSuperseded {
		return
	}
	m := Answer{result: t.Result, bytes: t.Weight}
	if t.Event.Failure != nil {
		m.Err = t.Event.Failure.Err
	}
	if errors.Is(m.Err, context.DeadlineExceeded) {
		return
	}
	for _, out := range m.result.Outputs {
		m.bytes += Size(out)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes+m.bytes > r.limit { // much of it may belong to records that another instance owns by now
		clear(r.made)
		r.bytes = 0
	}
	at := t.Record.Position
	r.bytes += m.bytes - r.made[at].bytes
	r.made[at] = m
	r.some.Store(true)
}

// Pop removes and returns the kept answer for a record.
func (r *Results) Pop(at header.Position) (m Answer, ok bool) {
	if !r.some.Load() {
		return Answer{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok = r.made[at]
	if !ok {
		return Answer{}, false
	}
	delete(r.made, at)
	r.bytes -= m.bytes
	r.some.Store(len(r.made) > 0)
	return m, true
}
