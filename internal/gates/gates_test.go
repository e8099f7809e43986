package gates

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/transform"
)

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func feature(owner, zone bool) *transform.Feature {
	f := &transform.Feature{}
	if owner {
		f.SetProperty("owner", transform.StringValue("x"))
	} else {
		f.SetProperty("owner", transform.NullValue())
	}
	if zone { // a field may also be missing
		f.SetProperty("zone", transform.StringValue("W2"))
	}
	return f
}

// short formats a breach for tables: code, batch and field, and the counts.
func short(broken []Breach) string {
	var out []string
	for _, b := range broken {
		out = append(out, fmt.Sprintf("%s %s%s %d/%d", b.Code, b.Batch, b.Field, b.Bad, b.Of))
	}
	return strings.Join(out, ", ")
}

func TestMapped_S0_9_nullRatePerFieldAndWindow(t *testing.T) {
	g := New(Limits{Fields: []string{"owner", "zone"}, MaxNullRate: 0.1, Window: time.Minute, MinRecords: 10})
	now := start
	for i := range 10 { // one in ten is tolerated
		now = start.Add(time.Duration(i) * time.Second)
		got := g.Mapped(now, "", feature(true, i != 3))
		must.That(t, len(got) == 0, "after %d: %s", i+1, short(got))
	}
	expect.Equal(t, short(g.Mapped(now, "", feature(true, false))), "null_rate zone 2/11", "two of eleven")
	if got := g.Mapped(start.Add(65*time.Second), "", feature(true, true)); len(got) != 0 {
		t.Errorf("the window did not slide: %s", short(got))
	}
	if got := g.Mapped(now, "", feature(false, false)); len(got) != 0 { // a clock behind the others
		t.Errorf("a breach with few records: %s", short(got))
	}
}

func TestEnded_S1_8_transientShareOfAttemptsInTenMinutes(t *testing.T) {
	failed, good := Outcome{Transient: true}, Outcome{Finished: true, Delivered: true}
	for name, c := range map[string]struct {
		failed, of int
		apart      time.Duration // between two attempts
		broken     bool
	}{
		"S1-8 40 % is tolerated":      {40, 100, time.Second, false},
		"S1-8 41 % is not":            {41, 100, time.Second, true},
		"too few attempts":            {50, 99, time.Second, false},
		"S1-8 older than ten minutes": {50, 100, 20 * time.Second, false},
		"every attempt fails":         {100, 100, 0, true},
		"S1-8 within ten minutes":     {41, 100, 5900 * time.Millisecond, true},
	} {
		g := New(Limits{MaxTransientRate: 0.4, MaxDeadLetterRate: 1})
		var last []Breach
		for i := range c.of {
			o := good
			if i < c.failed {
				o = failed
			}
			last = g.Ended(start.Add(time.Duration(i)*c.apart), "", o)
		}
		got := len(last) == 1 && last[0].Code == TransientRate
		expect.That(t, got == c.broken && len(last) <= 1, "%s: broken: %s, want %v", name, short(last), c.broken)
	}
}

func TestEnded_S4_9_moreThanAFifthDead(t *testing.T) {
	g := New(Limits{MaxTransientRate: 1, MaxDeadLetterRate: 0.2})
	var last []Breach
	for i := range 101 {
		last = g.Ended(start, "", Outcome{Finished: true, Dead: i%5 == 0})
		must.That(t, i >= 100 || len(last) <= 0, "after %d: %s", i+1, short(last))
		for range 3 { // waiting records are not finished, and do not lower the share
			got := g.Ended(start, "", Outcome{})
			must.That(t, len(got) <= 0 || i >= 100, "after %d: %s", i+1, short(got))
		}
	}
	got := short(last)
	expect.That(t, got == "dead_letter_rate  21/101", "21 of 101: %s", got)
	want := "21 of 101 records (20.7921 %) became dead letters within 10m; pipeline.tolerance.max_dead_letter_rate is 20 %"
	got = last[0].String()
	expect.That(t, got == want, "in words: %s", got)
	g.Reset()
	after := g.Ended(start, "", Outcome{Finished: true, Dead: true})
	expect.That(t, len(after) == 0, "after a reset: %s", short(after))
}

// S4-1: a bad batch among good records is named. Once it is handled separately, the window forgets it.
func TestBatch_S4_1_answersForItself(t *testing.T) {
	for name, c := range map[string]struct {
		apart bool
		want  string
	}{
		"by itself":       {true, "null_rate bad-zone 10/10"},
		"with all others": {false, "null_rate bad-zone 10/10, null_rate zone 10/30"},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(Limits{Fields: []string{"zone"}, MaxNullRate: 0.2, MaxTransientRate: 1, MaxDeadLetterRate: 0.2, MinRecords: 10, SeparateBatches: c.apart})
			for range 20 {
				got := g.Mapped(start, "good-", feature(true, true))
				must.That(t, len(got) == 0, "%v", short(got))
				got = g.Ended(start, "good-", Outcome{Finished: true, Delivered: true})
				must.That(t, len(got) == 0, "%v", short(got))
			}
			var last []Breach
			for range 10 {
				last = g.Mapped(start, "bad-", feature(true, false))
				g.Ended(start, "bad-", Outcome{Finished: true, Delivered: true})
			}
			expect.Equal(t, short(last), c.want, c)
			n, m := g.Delivered("bad-"), g.Delivered("never")
			expect.That(t, n == 10 && m == 0, "delivered %d and %d", n, m)
			apart := g.Mapped(start, "", feature(true, true))
			expect.That(t, !c.apart || len(apart) == 0, "the window still counts the batch: %s", short(apart))
		})
	}
}

func TestBatches_theOneNotHeardOfForLongestIsForgotten(t *testing.T) {
	g := New(Limits{MaxTransientRate: 1, MaxDeadLetterRate: 1, MaxBatches: 2})
	for _, id := range []string{"a", "b", "a", "c"} {
		g.Ended(start, id, Outcome{Finished: true, Delivered: true})
	}
	a, b, c := g.Delivered("a"), g.Delivered("b"), g.Delivered("c")
	expect.That(t, a == 2 && b == 0 && c == 1, "a %d, b %d, c %d", a, b, c)
}

func TestGates_fromManyGoroutines(t *testing.T) {
	g := New(Limits{Fields: FieldsOf(transform.Config{Fields: []transform.Field{{To: "zone"}, {To: "id", Required: true}}}), MaxDeadLetterRate: 1})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				g.Mapped(start, "b", feature(true, false))
				g.Ended(start, "b", Outcome{Finished: true, Delivered: true})
			}
		})
	}
	group.Wait()
	n := g.Delivered("b")
	expect.That(t, n == 800 && g.nulls.sum.bad[0] == 800, "%d delivered, %+v", n, g.nulls.sum)
}

func TestCodes_isClosedAndEachNamesItsKey(t *testing.T) {
	for _, c := range Codes() {
		expect.That(t, c.key() != "" && !strings.Contains(Breach{Code: c}.String(), "%!"), "%s: %s", c, Breach{Code: c})
	}
}

// A producer that uses a batch per record, such as an event ID, costs no more memory than MaxBatches batches.
func TestBatches_oneForEachRecordIsBounded(t *testing.T) {
	g := New(Limits{Fields: []string{"owner"}, MaxNullRate: 0.5, MaxDeadLetterRate: 0.5, MaxBatches: 10, SeparateBatches: true})
	for i := range 5000 {
		now, id := time.Unix(int64(i)/10, 0), "b-"+strconv.Itoa(i)
		g.Mapped(now, id, feature(true, true))
		g.Ended(now, id, Outcome{Finished: true, Delivered: true})
	}
	for name, w := range map[string]*window{"nulls": g.nulls, "letters": g.letters} {
		known := len(w.batches)
		for i := range w.parts {
			known += len(w.parts[i].batches)
		}
		expect.That(t, known <= 2*10, "%s remembers %d batches", name, known)
		expect.That(t, w.sum.of == 5000, "%s counts %d records: those of a forgotten batch are still in the window", name, w.sum.of)
	}
	// These records become dead letters, one per batch: no batch can be judged on its own, so the window must exceed its
	// limit.
	broken := false
	for i := range 12000 {
		broken = broken || len(g.Ended(time.Unix(500, 0), "d-"+strconv.Itoa(i), Outcome{Finished: true, Dead: true})) > 0
	}
	expect.That(t, broken, "no breach although most records become dead letters")
	for i := range 100 { // everything is dropped once it is older than the window
		g.Ended(time.Unix(5000+int64(i)*10, 0), "", Outcome{Finished: true, Delivered: true})
	}
	s := g.letters.sum
	expect.That(t, s.of == 60 && s.bad[0] == 0, "the window has %+v left", s)
}

// While the windows are suspended, no rate is exceeded. They start empty after that, and earlier attempts do not count.
func TestSuspend_S1_8_S4_9_noWindowIsJudgedAndEachBeginsEmpty(t *testing.T) {
	limits := Limits{Fields: []string{"zone"}, MaxNullRate: 0.1, MaxTransientRate: 0.1, MaxDeadLetterRate: 0.1, MinRecords: 10}
	g := New(limits)
	until := start.Add(10 * time.Minute)
	bad := func(now time.Time, n int) (broken []Breach) {
		for range n {
			broken = append(broken, g.Mapped(now, "b", feature(true, false))...)
			broken = append(broken, g.Ended(now, "b", Outcome{Transient: true, Finished: true, Dead: true})...)
		}
		return broken
	}
	g.Suspend(until)
	got := bad(until.Add(-time.Millisecond), 100)
	must.That(t, len(got) == 0 && g.Suspended(start), "suspended: %s", short(got))
	g.Begun(start, at(1), "", true)
	got = bad(until, 3)
	expect.That(t, len(got) == 0 && !g.Suspended(until), "three after its end: %s", short(got))
	expect.That(t, g.Over(at(1)), "an attempt from before the end of the suspension is counted")
	got = bad(until, 10)
	expect.That(t, len(got) != 0, "the windows are not judged after its end")
	g.Suspend(until.Add(time.Hour))
	g.Suspend(time.Time{})
	got = bad(until, 20)
	expect.That(t, len(got) != 0, "an ended suspension continues")
}

// A batch that is handled separately stops no other batch, so it is judged during a suspension too.
func TestSuspend_S4_1_aBatchIsQuarantinedAllTheSame(t *testing.T) {
	for _, apart := range []bool{true, false} {
		g := New(Limits{Fields: []string{"zone"}, MaxNullRate: 0.1, MaxTransientRate: 1, MaxDeadLetterRate: 1, MinRecords: 10, SeparateBatches: apart})
		g.Suspend(start.Add(time.Hour))
		var last []Breach
		for range 10 {
			last = g.Mapped(start, "b", &transform.Feature{})
		}
		expect.That(t, (len(last) == 1 && last[0].Batch == "b") == apart && (apart || len(last) <= 0), "apart %v: %s", apart, short(last))
	}
}

// A bad batch that is too small to be judged does not pause the pipeline; several of them do.
func TestBatch_S4_1_oneSmallBatchIsWaitedFor(t *testing.T) {
	limits := Limits{Fields: []string{"zone"}, MaxNullRate: 0.2, MinRecords: 20, SeparateBatches: true}
	g := New(limits)
	for i := range 40 {
		if got := g.Mapped(start, "good-", feature(true, true)); len(got) != 0 {
			t.Fatal(short(got))
		}
		if got := g.Mapped(start, "bad-", feature(true, false)); len(got) != 0 && i < 19 {
			t.Fatalf("after %d: %s", i+1, short(got))
		} else if i == 19 && short(got) != "null_rate bad-zone 20/20" {
			t.Fatalf("judged: %s", short(got))
		}
	}
	g = New(limits)
	var last []Breach
	for i := range 40 {
		last = append(last, g.Mapped(start, "small"+strconv.Itoa(i/10), feature(true, i%2 == 0))...)
	}
	expect.That(t, len(last) != 0 && last[0].Batch == "", "many small bad batches: %s", short(last))
	g = New(limits)
	for range 30 {
		g.Mapped(start, "good-", feature(true, true))
		last = g.Mapped(start, "", feature(true, false))
	}
	expect.That(t, short(last) == "null_rate zone 30/60", "records without a batch: %s", short(last))
}
