package gates

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// While the windows are suspended nothing is broken; they begin empty when it ends, and what began before that counts for nothing.
func TestSuspend_S1_8_S4_9_noWindowIsJudgedAndEachBeginsEmpty(t *testing.T) {
	limits := Limits{Fields: []string{"zone"}, MaxNullRate: 0.1, MaxTransientRate: 0.1, MaxDeadLetterRate: 0.1, MinRecords: 10}
	g := New(limits)
	until := start.Add(10 * time.Minute)
	bad := func(now time.Time, n int) (broken []Breach) {
		for range n {
			broken = append(broken, g.Mapped(now, "b", feature(true, false))...)
			broken = append(broken, g.Ended(now, "b", Outcome{Transient: true, Finished: true, Dead: true})...)
		}
		return append(broken, g.Count(now, Amounts{First: int64(n), Transient: int64(n), Finished: int64(n), Dead: int64(n)})...)
	}
	g.Suspend(until)
	if got := bad(until.Add(-time.Millisecond), 100); len(got) != 0 || !g.Suspended(start) {
		t.Fatalf("suspended: %s", short(got))
	}
	g.Begun(start, at(1), "", true)
	if got := bad(until, 3); len(got) != 0 || g.Suspended(until) {
		t.Errorf("three after its end: %s", short(got))
	}
	if !g.Over(at(1)) {
		t.Error("what began before the end counts")
	}
	if got := bad(until, 10); len(got) == 0 {
		t.Error("the windows are not judged after its end")
	}
	g.Suspend(until.Add(time.Hour))
	g.Suspend(time.Time{})
	if got := bad(until, 20); len(got) == 0 {
		t.Error("a suspension that a person ended goes on")
	}
}

// A batch that is dealt with by itself stops nobody: it is judged all the same.
func TestSuspend_S4_1_aBatchIsQuarantinedAllTheSame(t *testing.T) {
	for _, apart := range []bool{true, false} {
		g := New(Limits{Fields: []string{"zone"}, MaxNullRate: 0.1, MaxTransientRate: 1, MaxDeadLetterRate: 1, MinRecords: 10, ApartBatches: apart})
		g.Suspend(start.Add(time.Hour))
		var last []Breach
		for range 10 {
			last = g.Mapped(start, "b", &transform.Feature{})
		}
		if (len(last) == 1 && last[0].Batch == "b") != apart || !apart && len(last) > 0 {
			t.Errorf("apart %v: %s", apart, short(last))
		}
	}
}
