package quota

import (
	"sync"
	"time"
)

const (
	// unknownReset is how long an empty quota is taken to last when the service does not say.
	unknownReset = time.Second
	// crowded is how long to wait when all that is left may be taken by requests under way.
	crowded = 100 * time.Millisecond
)

// Ledger counts what is left of one service's quota. It may be used by many goroutines at once. A nil Ledger lets
// everything pass.
type Ledger struct {
	limit time.Duration // longest pause that is believed
	now   func() time.Time

	mu     sync.Mutex
	sent   uint64          // number of the last request
	under  map[uint64]bool // requests under way
	seen   uint64          // the request whose answer is the newest that said something
	known  bool            // whether left and resets hold
	left   int             // by that answer
	size   int             // after a reset, by that answer; 0 when nobody said
	guess  bool            // that left is what size says, since no answer of this window has come yet
	resets time.Time
	paused time.Time // nothing is sent before
	began  uint64    // the last request that was sent before the pause
}

// New makes a ledger. limit is the longest pause that is believed; a longer one is cut.
func New(limit time.Duration, now func() time.Time) *Ledger {
	return &Ledger{limit: limit, now: now, under: map[uint64]bool{}}
}

// Ticket is the leave to send one request. It must be given back with [Ledger.Done].
type Ticket uint64

// Take asks for leave to send one request. When there is none, wait says how long there will be none.
func (l *Ledger) Take() (t Ticket, wait time.Duration) {
	if l == nil {
		return 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait := l.wait(); wait > 0 {
		return 0, wait
	}
	l.sent++
	l.under[l.sent] = true
	return Ticket(l.sent), 0
}

// Wait says how long no request may be sent, without asking for leave.
func (l *Ledger) Wait() time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wait()
}

// wait is Wait. The mutex is held.
func (l *Ledger) wait() time.Duration {
	now := l.now()
	if pause := l.paused.Sub(now); pause > 0 {
		return pause
	}
	l.turn(now)
	switch {
	case !l.known || l.left > l.uncounted():
		return 0
	case l.left > 0 && len(l.under) > 0:
		return crowded
	default:
		return max(l.resets.Sub(now), time.Millisecond)
	}
}

// turn begins a new window once the old one is over. Until an answer says more, there is what the service said there is
// after a reset; when it did not say, or does not say it any more, there is no limit. The mutex is held.
func (l *Ledger) turn(now time.Time) {
	switch {
	case !l.known || now.Before(l.resets):
	case l.guess && len(l.under) > 0: // an answer that knows better is on its way
		l.resets = now.Add(unknownReset)
	case l.guess || l.size == 0:
		l.known, l.guess = false, false
	default:
		l.guess, l.left, l.resets = true, l.size, now.Add(unknownReset)
		l.seen = l.sent
	}
}

// uncounted is how many requests the service may not have counted in what it said last. The mutex is held.
func (l *Ledger) uncounted() int {
	n := int(min(l.sent-l.seen, 1<<31-1)) // sent later, whether they have come back or not
	for number := range l.under {
		if number <= l.seen {
			n++
		}
	}
	return n
}

// Done gives a ticket back, with what its answer says. It reports whether the request was sent before the service asked
// for a pause that is not over: its failure is then no news.
func (l *Ledger) Done(t Ticket, a Advice) (overtaken bool) {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	number := uint64(t)
	delete(l.under, number)
	overtaken = now.Before(l.paused) && number <= l.began
	if a.Pause > 0 {
		l.pause(now, a.Pause)
	}
	if !a.Known || number <= l.seen {
		return overtaken
	}
	l.seen, l.known, l.guess, l.left, l.size = number, true, false, a.Remaining, a.Limit
	reset := min(a.Reset, l.limit)
	if reset <= 0 {
		reset = unknownReset
	}
	l.resets = now.Add(reset)
	return overtaken
}

// pause lets nothing pass for a time. The mutex is held.
func (l *Ledger) pause(now time.Time, wait time.Duration) {
	if until := now.Add(min(wait, l.limit)); until.After(l.paused) {
		if !now.Before(l.paused) {
			l.began = l.sent
		}
		l.paused = until
	}
}

// Left is how many requests the service said are left; ok is false when it said nothing that still holds.
func (l *Ledger) Left() (n int, ok bool) {
	if l == nil {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(l.now())
	return max(l.left-l.uncounted(), 0), l.known
}
