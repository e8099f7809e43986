package retrytopics

import (
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// commitHealth follows what keeps an engine from committing: transactions that are aborted one after another, and sessions that
// end. It outlives the sessions. Safe for concurrent use.
type commitHealth struct {
	mu      sync.Mutex
	first   time.Duration // the wait after the first aborted transaction; 0: none
	aborts  int           // in a row
	alone   int           // since the last commit, of which every record was taken
	since   time.Time
	next    time.Time // not before this is the next transaction tried
	told    time.Time
	reason  error
	ended   bool // it was a session that ended last, and no transaction that was aborted
	healthy bool // something was committed since the engine began to run
}

// Blocked says why an engine does not commit, and since when. Its zero value is that of an engine that does.
type Blocked struct {
	Reason string
	Since  time.Time
}

const (
	blockedFrom = 3 // aborted transactions in a row, from which on nothing new is begun
	freshEvery  = 5 // so many of them, and a new session may know better: of a topic that was created again, say
	firstWait   = 250 * time.Millisecond
	longestWait = 30 * time.Second
	tellEvery   = time.Minute
)

// afterAborts gives how long to wait after the nth aborted transaction in a row, whether the engine is blocked from then
// on, and whether a new session should try. The wait doubles from first on. It is pure.
func afterAborts(n int, first time.Duration) (wait time.Duration, blocked, fresh bool) {
	wait = first << min(n-1, 10)
	return min(wait, longestWait), n >= blockedFrom, n%freshEvery == 0
}

// failed notes an aborted transaction and says whether a new session should try.
func (t *commitHealth) failed(log *slog.Logger, err error) (fresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.note(log, err, false)
}

// unexplained notes an aborted transaction of which all records were taken, and says whether it counts as failed. One is what a
// rebalance does, and the next is committed. In a row they are a loop.
func (t *commitHealth) unexplained() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alone++
	return t.alone > 1
}

// refused notes a session that ended for a missing permission.
func (t *commitHealth) refused(log *slog.Logger, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(log, err, true)
}

// note does the work of failed and refused. The mutex is held.
func (t *commitHealth) note(log *slog.Logger, err error, ended bool) (fresh bool) {
	t.ended = ended
	now := time.Now()
	if t.aborts++; t.aborts == 1 {
		t.since = now
	}
	wait, blocked, fresh := afterAborts(t.aborts, t.first)
	t.next = now.Add(wait/2 + rand.N(wait/2+1))
	t.reason = err
	if !blocked || now.Sub(t.told) >= tellEvery {
		t.told = now
		log.Error("cannot commit; nothing is lost, and it is tried again", "blocked", blocked, "aborted_in_a_row", t.aborts, "since", t.since.UTC(), "error", err)
	}
	return fresh
}

// passed notes a committed transaction.
func (t *commitHealth) passed(log *slog.Logger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.healthy, t.alone = true, 0
	if t.aborts == 0 {
		return
	}
	log.Info("commits again", "aborted_in_a_row", t.aborts, "for", time.Since(t.since).String())
	t.aborts, t.reason, t.next, t.told = 0, nil, time.Time{}, time.Time{}
}

// sessionEnded says whether the trouble at hand is a session that ended for a missing permission.
func (t *commitHealth) sessionEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.aborts > 0 && t.ended
}

// begin forgets what an earlier run met.
func (t *commitHealth) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.aborts, t.alone, t.reason, t.next, t.told, t.healthy = 0, 0, nil, time.Time{}, time.Time{}, false
}

// waits gives how long the next transaction must wait.
func (t *commitHealth) waits() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.aborts == 0 {
		return 0
	}
	return max(time.Until(t.next), 0)
}

// blocked gives why nothing is committed, once that is more than an accident.
func (t *commitHealth) blocked() (b Blocked, yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.aborts < blockedFrom {
		return Blocked{}, false
	}
	return Blocked{t.reason.Error(), t.since}, true
}

// wasHealthy says whether something was committed since the engine began to run.
func (t *commitHealth) wasHealthy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.healthy
}

// Blocked says why the engine does not commit at the moment: a permission that was taken away, a topic that refuses what the
// engine writes. It begins no attempt then, and tries again by itself.
func (e *Engine) Blocked() (b Blocked, yes bool) { return e.health.blocked() }
