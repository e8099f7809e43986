package instance

import (
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Health tracks what prevents an engine from committing: consecutive aborted transactions, and sessions that end.
// It outlives the sessions. Safe for concurrent use.
type Health struct {
	mu      sync.Mutex    // guards the following fields, except First, which is constant
	First   time.Duration // the wait after the first aborted transaction; 0: none
	aborts  int           // consecutive
	alone   int           // aborts since the last commit for which every record was acknowledged
	since   time.Time
	next    time.Time // earliest time of the next transaction
	logged  time.Time // when the block was last logged
	reason  error
	ended   bool // the last failure ended a session and was not an aborted transaction
	healthy bool // something was committed since the engine began to run
}

// BlockedFrom is the least number of consecutive aborted transactions after which no new attempt begins.
const BlockedFrom = 3

const (
	freshEvery  = 5 // aborted transactions after which a new session begins; it may find, for example, a re-created topic
	firstWait   = 250 * time.Millisecond
	longestWait = 30 * time.Second
	logEvery    = time.Minute
)

// afterAborts returns the wait after the nth consecutive aborted transaction, whether the engine is blocked from then
// on, and whether to try a new session. The wait starts at first and doubles. It is pure.
func afterAborts(n int, first time.Duration) (wait time.Duration, blocked, fresh bool) {
	wait = first << min(n-1, 10)
	return min(wait, longestWait), n >= BlockedFrom, n%freshEvery == 0
}

// Failed records an aborted transaction and reports whether to try a new session.
func (t *Health) Failed(log *slog.Logger, err error) (fresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.note(log, err, false)
}

// Unexplained records an aborted transaction of which every record was acknowledged, and reports whether it counts as
// failed. A rebalance causes one, and the next transaction commits. Several in a row are a loop.
func (t *Health) Unexplained() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alone++
	return t.alone > 1
}

// Refused records a session that ended because a permission is missing.
func (t *Health) Refused(log *slog.Logger, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(log, err, true)
}

// note does the work of failed and refused. The mutex is held.
func (t *Health) note(log *slog.Logger, err error, ended bool) (fresh bool) {
	t.ended = ended
	now := time.Now()
	if t.aborts++; t.aborts == 1 {
		t.since = now
	}
	wait, blocked, fresh := afterAborts(t.aborts, t.First)
	t.next = now.Add(wait/2 + rand.N(wait/2+1))
	t.reason = err
	if !blocked || now.Sub(t.logged) >= logEvery {
		t.logged = now
		log.Error("cannot commit; nothing is lost, and it is tried again", "blocked", blocked, "aborted_in_a_row", t.aborts, "since", t.since.UTC(), "error", err)
	}
	return fresh
}

// Passed records a committed transaction.
func (t *Health) Passed(log *slog.Logger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.healthy, t.alone = true, 0
	if t.aborts == 0 {
		return
	}
	log.Info("commits again", "aborted_in_a_row", t.aborts, "for", time.Since(t.since).String())
	t.aborts, t.reason, t.next, t.logged = 0, nil, time.Time{}, time.Time{}
}

// SessionEnded reports whether the last failure was a session that ended because a permission is missing.
func (t *Health) SessionEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.aborts > 0 && t.ended
}

// Begin forgets the failures of an earlier run.
func (t *Health) Begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.aborts, t.alone, t.reason, t.next, t.logged, t.healthy = 0, 0, nil, time.Time{}, time.Time{}, false
}

// Waits returns how long the next transaction must wait.
func (t *Health) Waits() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.aborts == 0 {
		return 0
	}
	return max(time.Until(t.next), 0)
}

// Blocked returns the reason why nothing is committed, after at least BlockedFrom consecutive aborted transactions.
func (t *Health) Blocked() (b retrytopics.Blocked, yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.aborts < BlockedFrom {
		return retrytopics.Blocked{}, false
	}
	return retrytopics.Blocked{Reason: t.reason.Error(), Since: t.since}, true
}

// WasHealthy reports whether something was committed since the engine began to run.
func (t *Health) WasHealthy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.healthy
}
