package idempotency

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// start is when the tests begin; the ledger has no clock but theirs.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func keyOf(i int) KeyHash { return HashKey(binary.BigEndian.AppendUint64(nil, uint64(i))) }

// appliedAt is a value that only fits its own i.
func appliedAt(i int, at time.Time) Applied {
	a := Applied{Version: int64(i) * -7919, Offset: int64(i), At: at}
	binary.BigEndian.PutUint64(a.Content[:], uint64(i)*0x9e3779b97f4a7c15)
	return a
}

func TestHashKey(t *testing.T) {
	expect.Equal(t, fmt.Sprintf("%x", HashKey([]byte("abc"))), "ba7816bf8f01cfea414140de", "HashKey(abc")
}

func TestContentOf(t *testing.T) {
	good := Of([]byte("x")).String()
	cases := []struct {
		name, text string
		ok         bool
	}{
		{"its_own_text", good, true},
		{"empty", "", false},
		{"prefix_only", "sha256:", false},
		{"other_algorithm", "sha512:" + good[7:], false},
		{"no_prefix", good[7:] + "       ", false},
		{"too_short", good[:len(good)-1], false},
		{"too_long", good + "0", false},
		{"upper_case", strings.ToUpper(good[:7]) + good[7:], false},
		{"upper_case_digits", "sha256:" + strings.Repeat("A", 64), false},
		{"broken_beyond_the_bytes_that_count", good[:len(good)-1] + "g", false},
	}
	for _, c := range cases {
		t.Run("S2-4_"+c.name, func(t *testing.T) {
			content, ok := ContentOf(c.text)
			must.That(t, ok == c.ok, "ContentOf(%q) ok = %v, want %v", c.text, ok, c.ok)
			var want [8]byte
			if hash := Of([]byte("x")); ok {
				want = [8]byte(hash[:8])
			}
			expect.Equal(t, content, want, c.text)
		})
	}
}

func TestLedger_keeps_what_was_noted_last(t *testing.T) {
	cases := []struct {
		name string
		in   Applied
		want Applied
	}{
		{"S2-4_nanoseconds", Applied{Version: 1_772_366_400_123_456_789, Offset: 1 << 60, At: start}, Applied{Version: 1_772_366_400_123_456_789, Offset: 1 << 60, At: start}},
		{"S2-4_smallest", Applied{Version: math.MinInt64, Offset: math.MinInt64, At: start}, Applied{Version: math.MinInt64, Offset: math.MinInt64, At: start}},
		{"S2-4_largest", Applied{Version: math.MaxInt64, Offset: math.MaxInt64, At: start}, Applied{Version: math.MaxInt64, Offset: math.MaxInt64, At: start}},
		{"S2-4_content", Applied{Content: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, At: start}, Applied{Content: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, At: start}},
		{"whole_seconds", Applied{At: start.Add(999 * time.Millisecond)}, Applied{At: start}},
		{"another_zone", Applied{At: start.In(time.FixedZone("", 3600))}, Applied{At: start}},
		{"before_1970", Applied{At: time.Time{}}, Applied{At: time.Unix(0, 0).UTC()}},
		{"after_2106", Applied{At: start.AddDate(100, 0, 0)}, Applied{At: time.Unix(math.MaxUint32, 0).UTC()}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := NewLedger(0, 0)
			l.Note(keyOf(1), Applied{Version: 5, Offset: 5, At: start})
			l.Note(keyOf(1), c.in)
			got, ok := l.Last(keyOf(1), start)
			expect.That(t, ok && got == c.want, "Last = %+v, %v; want %+v", got, ok, c.want)
			_, ok = l.Last(keyOf(2), start)
			expect.That(t, !ok && l.Len() == 1, "a key that was never noted is known; %d keys", l.Len())
		})
	}
}

func TestLedger_window(t *testing.T) {
	cases := []struct {
		name   string
		window time.Duration
		age    time.Duration
		known  bool
	}{
		{"S2-4_young", time.Hour, time.Minute, true},
		{"S2-4_exactly_the_window", time.Hour, time.Hour, true},
		{"S2-4_a_nanosecond_older", time.Hour, time.Hour + 1, false},
		{"S2-4_much_older", time.Hour, 24 * 365 * time.Hour, false},
		{"from_a_clock_ahead", time.Hour, -24 * time.Hour, true},
		{"fractions_of_a_second", 1500 * time.Millisecond, 1500 * time.Millisecond, true},
		{"fractions_of_a_second_older", 1500 * time.Millisecond, 1501 * time.Millisecond, false},
		{"no_limit", 0, 24 * 365 * 50 * time.Hour, true},
		{"no_limit_below_zero", -1, 24 * 365 * 50 * time.Hour, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := NewLedger(c.window, 0)
			l.Note(keyOf(1), appliedAt(1, start))
			_, ok := l.Last(keyOf(1), start.Add(c.age))
			expect.That(t, ok == c.known, "known = %v after %v with a window of %v", ok, c.age, c.window)
		})
	}
}

func TestLedger_sweeps_what_left_the_window(t *testing.T) {
	const keys = 5000
	l := NewLedger(time.Hour, 0)
	for i := range keys {
		l.Note(keyOf(i), appliedAt(i, start))
	}
	later := start.Add(time.Hour + time.Second)
	_, ok := l.Last(keyOf(1), later)
	expect.That(t, !ok, "a key older than the window is known")
	for calls := 1; l.Len() > 0; calls++ {
		before := l.Len()
		l.Last(keyOf(-1), later)
		swept := before - l.Len()
		must.That(t, swept != 0 && swept <= sweepSteps+1, "call %d removed %d keys", calls, swept)
	}
	checkLedger(t, l)
}

// One time from a broken clock must not keep all that came after it.
func TestLedger_sweeps_behind_a_time_out_of_order(t *testing.T) {
	const keys = 5000
	l := NewLedger(time.Hour, 0)
	l.Note(keyOf(-1), appliedAt(-1, start.AddDate(50, 0, 0)))
	for i := range keys {
		l.Note(keyOf(i), appliedAt(i, start))
	}
	later := start.Add(2 * time.Hour)
	for range 2 * keys {
		l.Last(keyOf(-2), later)
	}
	_, ok := l.Last(keyOf(-1), later)
	expect.That(t, ok && l.Len() == 1, "%d keys are left after two rounds, want the one that is within the window", l.Len())
	checkLedger(t, l)
}

func TestLedger_Forget(t *testing.T) {
	const keys = 5000
	l := NewLedger(time.Hour, keys)
	for i := range keys {
		l.Note(keyOf(i), appliedAt(i, start))
	}
	for i := 0; i < keys; i += 2 {
		l.Forget(keyOf(i))
		l.Forget(keyOf(i)) // not known any more
	}
	l.Note(keyOf(0), appliedAt(7, start))
	for i := range keys {
		want := i
		if i == 0 {
			want = 7
		}
		got, known := l.Last(keyOf(i), start)
		must.That(t, known == (i == 0 || i%2 == 1) && (!known || got == appliedAt(want, start)), "key %d: %+v, known %v", i, got, known)
	}
	expect.That(t, l.Len() == keys/2+1, "%d keys are left", l.Len())
	checkLedger(t, l)
}
