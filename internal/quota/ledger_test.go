package quota

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// at is a ledger with a clock that the test turns.
func at(t *testing.T) (*Ledger, *time.Time) {
	t.Helper()
	now := clock
	return New(time.Hour, func() time.Time { return now }), &now
}

func take(t *testing.T, l *Ledger) Ticket {
	t.Helper()
	ticket, wait := l.Take()
	if wait != 0 {
		t.Fatalf("has to wait %v", wait)
	}
	return ticket
}

func TestLedger_S2_2_holds_at_nothing_left_until_the_reset(t *testing.T) {
	l, now := at(t)
	l.Done(take(t, l), Advice{Known: true, Remaining: 1, Limit: 2, Reset: 30 * time.Second})
	if n, ok := l.Left(); n != 1 || !ok {
		t.Errorf("left %d, %v", n, ok)
	}
	l.Done(take(t, l), Advice{Known: true, Remaining: 0, Limit: 2, Reset: 20 * time.Second})
	if _, wait := l.Take(); wait != 20*time.Second {
		t.Errorf("waits %v", wait)
	}
	*now = now.Add(20 * time.Second)
	first, second := take(t, l), take(t, l) // as many as there are after a reset
	if _, wait := l.Take(); wait != crowded {
		t.Errorf("a third one waits %v", wait)
	}
	l.Done(first, Advice{})
	l.Done(second, Advice{})
	if _, wait := l.Take(); wait != unknownReset {
		t.Errorf("waits %v for answers that said nothing", wait)
	}
}

func TestLedger_S1_6_pause(t *testing.T) {
	l, now := at(t)
	one, two := take(t, l), take(t, l)
	if l.Done(one, Advice{Pause: time.Minute}) {
		t.Error("the first to hear of a pause is told that it is no news")
	}
	if !l.Done(two, Advice{Pause: time.Minute}) {
		t.Error("one that was under way is told that it is news")
	}
	if l.Wait() != time.Minute {
		t.Errorf("waits %v", l.Wait())
	}
	*now = now.Add(time.Minute)
	three := take(t, l)
	if l.Done(three, Advice{Pause: 1000 * time.Hour}) {
		t.Error("a request of the next window was overtaken")
	}
	if l.Wait() != time.Hour {
		t.Errorf("an absurd pause of %v is believed", l.Wait())
	}
}

func TestLedger_an_older_answer_does_not_count(t *testing.T) {
	l, _ := at(t)
	one, two := take(t, l), take(t, l)
	l.Done(two, Advice{Known: true, Remaining: 0, Reset: time.Minute})
	l.Done(one, Advice{Known: true, Remaining: 1, Reset: time.Minute})
	if l.Wait() != time.Minute {
		t.Errorf("waits %v", l.Wait())
	}
}

func TestLedger_nil_lets_everything_pass(t *testing.T) {
	var l *Ledger
	take(t, l)
	if l.Done(0, Advice{Pause: time.Hour}) || l.Wait() != 0 {
		t.Error("held")
	}
}

// However requests and answers interleave, the service never has to refuse one that was sent after its first answer.
func TestLedger_S2_2_never_over_the_limit(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		l, now := at(t)
		size, window := 1+random.IntN(20), time.Minute
		left, reset := size, now.Add(window)
		type answer struct {
			ticket Ticket
			advice Advice
		}
		var coming []answer
		served, spoke := 0, false
		for range 2000 {
			*now = now.Add(time.Duration(random.IntN(300)) * time.Millisecond)
			if !now.Before(reset) {
				left, reset = size, now.Add(window)
			}
			if random.IntN(2) == 0 && len(coming) > 0 {
				i := random.IntN(len(coming))
				l.Done(coming[i].ticket, coming[i].advice)
				coming = slices.Delete(coming, i, i+1)
				spoke = true
				continue
			}
			ticket, wait := l.Take()
			if wait > 0 || !spoke && len(coming) > 0 {
				if wait == 0 {
					l.Done(ticket, Advice{})
				}
				continue
			}
			if left == 0 {
				t.Fatalf("seed %d: a request was sent with nothing left of %d", seed, size)
			}
			left--
			served++
			// The reset is said in whole seconds, rounded up, as services do.
			coming = append(coming, answer{ticket, Advice{Known: true, Remaining: left, Limit: size, Reset: (reset.Sub(*now) + time.Second - 1).Truncate(time.Second)}})
		}
		if served < size {
			t.Errorf("seed %d: only %d requests of %d were sent", seed, served, size)
		}
	}
}
