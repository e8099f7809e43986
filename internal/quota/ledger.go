package quota

import (
	"sync"
	"time"
)

const (
	// unknownReset is how long an empty quota is taken to last when the service does not say.
	unknownReset = time.Second
	// crowded is how long to wait while only answers that are on their way can tell how many requests are left.
	crowded = 100 * time.Millisecond
)

// Ledger counts what is left of one service's quota. It may be used by many goroutines at once. A nil Ledger lets
// everything pass.
type Ledger struct {
	limit time.Duration // longest pause that is believed
	now   func() time.Time

	mu     sync.Mutex
	sent   uint64          // number of the last request
	under  map[uint64]bool // requests under way: whether each was alone when it was sent
	known  bool            // whether the rest holds
	guess  bool            // that left is what size says, since no answer of this window has come yet
	left   int             // after every request that was sent
	size   int             // how many there are after a reset; 0 when nobody said
	resets time.Time
	turned uint64    // the last request before this window
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
	l.left--
	l.under[l.sent] = len(l.under) == 0
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
	case !l.known || l.left > 0:
		return 0
	case l.guess && len(l.under) > 0:
		return crowded
	default:
		return max(l.resets.Sub(now), time.Millisecond)
	}
}

// turn begins a new window once the old one is over. Until an answer says more, there is what the service said there is
// after a reset, less what is under way; when it did not say, or does not say it any more, there is no limit. The mutex is held.
func (l *Ledger) turn(now time.Time) {
	switch {
	case !l.known || now.Before(l.resets):
	case l.guess && len(l.under) > 0: // an answer that knows better is on its way
		l.resets = now.Add(unknownReset)
	case l.guess || l.size == 0:
		l.known, l.guess = false, false
	default:
		l.guess, l.left, l.resets = true, l.size-len(l.under), now.Add(unknownReset)
		l.turned = l.sent
	}
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
	alone := l.under[number] && number == l.sent
	delete(l.under, number)
	overtaken = now.Before(l.paused) && number <= l.began
	if a.Pause > 0 {
		l.pause(now, a.Pause)
	}
	if a.Known {
		l.learn(now, number, a, alone)
	}
	return overtaken
}

// learn takes up what an answer says. Requests overtake each other on their way, so within a window the least that was said
// counts; more is believed only of an answer to a request that was alone, as it is of a window that slides. The mutex is held.
func (l *Ledger) learn(now time.Time, number uint64, a Advice, alone bool) {
	l.turn(now)
	if number <= l.turned && l.known {
		return // of the window before
	}
	switch {
	case alone:
		l.left = a.Remaining
	case !l.known:
		l.left = a.Remaining - len(l.under)
	default:
		l.left = min(l.left, a.Remaining)
	}
	if alone || !l.known || l.guess {
		l.resets = now.Add(min(max(a.Reset, 0), l.limit))
		if a.Reset <= 0 {
			l.resets = now.Add(unknownReset)
		}
	}
	l.known, l.guess, l.size = true, false, a.Limit
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
	return max(l.left, 0), l.known
}
