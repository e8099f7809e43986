package enrich

import (
	"sync"
	"time"
)

const (
	// unknownReset is how long an empty quota lasts if the service does not state a reset.
	unknownReset = time.Second
	// crowded is how long to wait while only the answers to requests in flight can show how many requests are left.
	crowded = 100 * time.Millisecond
)

// QuotaLedger counts the remaining requests of one service's quota: the number that the service last reported, less the
// requests sent since and those in progress that the service may not have counted yet. Concurrent requests therefore
// stay within the limit together. It does not wait and does not decide about a request: it returns how long to wait. It
// is safe for concurrent use.
type QuotaLedger struct {
	limit time.Duration // the longest pause that a service can ask for
	now   func() time.Time

	mu     sync.Mutex
	sent   uint64          // number of the last request
	under  map[uint64]bool // requests in flight: whether each was alone when it was sent
	known  bool            // whether the fields below are valid
	guess  bool            // left is derived from size, because no answer of this window has arrived yet
	left   int             // requests, after all that were sent
	size   int             // requests after a reset; 0 if unknown
	resets time.Time
	turned uint64    // the last request before this window
	paused time.Time // nothing is sent before this time
	began  uint64    // the last request that was sent before the pause
}

// NewQuotaLedger returns an empty ledger. A pause longer than limit is cut to it.
func NewQuotaLedger(limit time.Duration, now func() time.Time) *QuotaLedger {
	return &QuotaLedger{limit: limit, now: now, under: map[uint64]bool{}}
}

// QuotaTicket permits one request. Return it with [QuotaLedger.Done].
type QuotaTicket uint64

// Take returns a ticket for one request, or how long to wait for the next one.
func (l *QuotaLedger) Take() (t QuotaTicket, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait := l.wait(); wait > 0 {
		return 0, wait
	}
	l.sent++
	l.left--
	l.under[l.sent] = len(l.under) == 0
	return QuotaTicket(l.sent), 0
}

// Wait returns how long no request may be sent, without taking a ticket.
func (l *QuotaLedger) Wait() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wait()
}

// wait is Wait. The mutex is held.
func (l *QuotaLedger) wait() time.Duration {
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

// turn begins a new window once the old one is over. Until an answer arrives, the window has the size that the service
// reported, less the requests in progress. Without a reported size, there is no limit. The mutex is held.
func (l *QuotaLedger) turn(now time.Time) {
	switch {
	case !l.known || now.Before(l.resets):
	case l.guess && len(l.under) > 0: // an answer in progress will have a better number
		l.resets = now.Add(unknownReset)
	case l.guess || l.size == 0:
		l.known, l.guess = false, false
	default:
		l.guess, l.left, l.resets = true, l.size-len(l.under), now.Add(unknownReset)
		l.turned = l.sent
	}
}

// Done returns a ticket with the advice of its answer. It reports whether the request was sent before the service asked
// for a pause that is not over yet: its failure is then expected.
func (l *QuotaLedger) Done(t QuotaTicket, a QuotaAdvice) (overtaken bool) {
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

// learn applies the advice of an answer. Requests overtake each other, so within a window the smallest number counts;
// a larger one counts only if the request was the only one in flight, as with a sliding window. The mutex is held.
func (l *QuotaLedger) learn(now time.Time, number uint64, a QuotaAdvice, alone bool) {
	l.turn(now)
	if number <= l.turned && l.known {
		return // of the previous window
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

// pause stops all requests for a time. The mutex is held.
func (l *QuotaLedger) pause(now time.Time, wait time.Duration) {
	if until := now.Add(min(wait, l.limit)); until.After(l.paused) {
		if !now.Before(l.paused) {
			l.began = l.sent
		}
		l.paused = until
	}
}

// Left returns how many requests are left; ok is false if the service has reported nothing that is still valid.
func (l *QuotaLedger) Left() (n int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(l.now())
	return max(l.left, 0), l.known
}
