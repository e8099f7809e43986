package enrich

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// newLedger is a ledger with a clock that the test turns.
func newLedger(t *testing.T) (*QuotaLedger, *time.Time) {
	t.Helper()
	now := quotaClock
	return NewQuotaLedger(time.Hour, func() time.Time { return now }), &now
}

func takeTicket(t *testing.T, l *QuotaLedger) QuotaTicket {
	t.Helper()
	ticket, wait := l.Take()
	if wait != 0 {
		t.Fatalf("has to wait %v", wait)
	}
	return ticket
}

func TestQuotaLedger_an_older_answer_does_not_count(t *testing.T) {
	l, _ := newLedger(t)
	one, two := takeTicket(t, l), takeTicket(t, l)
	l.Done(two, QuotaAdvice{Known: true, Remaining: 0, Reset: time.Minute})
	l.Done(one, QuotaAdvice{Known: true, Remaining: 1, Reset: time.Minute})
	if l.Wait() != time.Minute {
		t.Errorf("waits %v", l.Wait())
	}
}

func TestQuotaLedger_nil_lets_everything_pass(t *testing.T) {
	var l *QuotaLedger
	takeTicket(t, l)
	if l.Done(0, QuotaAdvice{Pause: time.Hour}) || l.Wait() != 0 {
		t.Error("held")
	}
}

// However requests and answers overtake each other, the service never has to refuse one that was sent after its first
// answer.
func TestQuotaLedger_S2_2_never_over_the_limit(t *testing.T) {
	for seed := range uint64(300) {
		playQuota(t, seed)
	}
}

// answer is one on its way.
type answer struct {
	ticket QuotaTicket
	advice QuotaAdvice
}

// playQuota lets a service with a limit count requests in any order, and its answers come in any order.
func playQuota(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	l, now := newLedger(t)
	size, window := 1+random.IntN(20), time.Minute
	left, reset := size, now.Add(window)
	var going []QuotaTicket
	var coming []answer
	served, spoke := 0, false
	for range 3000 {
		*now = now.Add(time.Duration(random.IntN(200)) * time.Millisecond)
		if !now.Before(reset) {
			left, reset = size, now.Add(window)
		}
		switch random.IntN(3) {
		case 0: // the service counts one
			if len(going) == 0 {
				continue
			}
			i := random.IntN(len(going))
			if left == 0 {
				t.Fatalf("seed %d: a request came with nothing left of %d", seed, size)
			}
			left--
			served++
			// The reset is said in whole seconds, rounded up, as services do.
			coming = append(coming, answer{going[i], QuotaAdvice{Known: true, Remaining: left, Limit: size, Reset: (reset.Sub(*now) + time.Second - 1).Truncate(time.Second)}})
			going = slices.Delete(going, i, i+1)
		case 1: // an answer arrives
			if len(coming) == 0 {
				continue
			}
			i := random.IntN(len(coming))
			l.Done(coming[i].ticket, coming[i].advice)
			coming = slices.Delete(coming, i, i+1)
			spoke = true
		case 2: // a request is sent; before the first answer only one
			if !spoke && len(going)+len(coming) > 0 {
				continue
			}
			if ticket, wait := l.Take(); wait == 0 {
				going = append(going, ticket)
			}
		}
	}
	if served < size {
		t.Errorf("seed %d: only %d requests of %d were sent", seed, served, size)
	}
}
