package idempotency

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// start is the time at which the tests begin. The ledger has no clock of its own.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func keyOf(i int) KeyHash { return HashKey(binary.BigEndian.AppendUint64(nil, uint64(i))) }

// appliedAt returns a value that is different for every i.
func appliedAt(i int, at time.Time) Applied {
	a := Applied{Version: int64(i) * -7919, Offset: int64(i), At: at}
	binary.BigEndian.PutUint64(a.Content[:], uint64(i)*0x9e3779b97f4a7c15)
	return a
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
		l := NewLedger(0, 0)
		l.Note(keyOf(1), Applied{Version: 5, Offset: 5, At: start})
		l.Note(keyOf(1), c.in)
		got, ok := l.Last(keyOf(1), start)
		expect.That(t, ok && got == c.want, "%v: Last = %+v, %v; want %+v", c.name, got, ok, c.want)
		_, ok = l.Last(keyOf(2), start)
		expect.That(t, !ok && l.Len() == 1, "%v: a key that was never noted is known; %d keys", c.name, l.Len())
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
		l := NewLedger(c.window, 0)
		l.Note(keyOf(1), appliedAt(1, start))
		_, ok := l.Last(keyOf(1), start.Add(c.age))
		expect.That(t, ok == c.known, "%v: known = %v after %v with a window of %v", c.name, ok, c.age, c.window)
	}
}

// A single time from a wrong clock must not keep all later keys in memory.
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

// checkLedger checks that the list, the table and the entries have the same keys.
func checkLedger(t *testing.T, l *Ledger) {
	t.Helper()
	before, count := uint32(none), 0
	for at := l.oldest; at != none; at = l.entries.at(at).newer {
		e := l.entries.at(at)
		must.That(t, e.older == before, "entry %d: the older one is %d, want %d", at, e.older, before)
		must.Equal(t, l.find(&e.key), at, "entry")
		if count++; count > l.Len() {
			t.Fatalf("the list is longer than %d keys", l.Len())
		}
		before = at
	}
	must.That(t, before == l.newest && count == l.Len(), "the list ends at %d of %d after %d of %d keys", before, l.newest, count, l.Len())
	checkTable(t, l)
}

// checkTable checks that each key is in the chain of its bucket, once.
func checkTable(t *testing.T, l *Ledger) {
	t.Helper()
	keys := 0
	for b := range place(l.Len()) {
		for at := *l.head(b); at != none; at = l.entries.at(at).next {
			must.Equal(t, bucketOf(l.hash(&l.entries.at(at).key), l.Len()), b, "the bucket of entry", at)
			keys++
			must.That(t, keys <= l.Len(), "the chains are longer than %d keys", l.Len())
		}
	}
	must.Equal(t, keys, l.Len(), "keys in the chains")
}

// bytesPerKey fails if the ledger is larger than allowed at its size.
func bytesPerKey(t *testing.T, l *Ledger) float64 {
	t.Helper()
	per := float64(l.Bytes()) / float64(l.Len())
	must.That(t, l.Len() < 10_000 || per <= 64, "%.2f bytes per key at %d keys", per, l.Len())
	return per
}

// The limit holds at every size while the ledger grows and shrinks.
func TestLedger_64_bytes_per_key_at_every_size(t *testing.T) {
	const keys = 300_000
	l := NewLedger(time.Hour, 0)
	worstUp, worstDown := 0.0, 0.0
	for i := range keys {
		l.Note(keyOf(i), appliedAt(i, start))
		if l.Len() >= 10_000 {
			worstUp = max(worstUp, bytesPerKey(t, l))
		}
	}
	checkLedger(t, l)
	later := start.Add(2 * time.Hour)
	for l.Len() > 10_000 { // each call sweeps a few of the keys that have left the window
		before := l.Len()
		l.Last(keyOf(-1), later)
		must.That(t, before > l.Len() && before <= l.Len()+sweepSteps+1, "a call removed %d keys", before-l.Len())
		worstDown = max(worstDown, bytesPerKey(t, l))
	}
	checkLedger(t, l)
	for i := range keys / 2 { // the freed memory is reused
		l.Note(keyOf(-i), appliedAt(i, later))
		bytesPerKey(t, l)
	}
	checkLedger(t, l)
	for l.Len() > 0 {
		l.Last(keyOf(0), later.Add(2*time.Hour))
	}
	checkLedger(t, l)
	expect.That(t, l.Bytes() <= 64*1024, "an empty ledger takes %d bytes", l.Bytes())
	t.Logf("worst bytes per key: %.2f growing, %.2f shrinking", worstUp, worstDown)
}

// model is the simplest implementation of a ledger: a map and a list.
type model struct {
	window  time.Duration
	maxKeys int
	last    map[KeyHash]Applied
	order   []KeyHash        // the oldest note first
	left    map[KeyHash]bool // keys that were out of the window at some time since their last note
}

func newModel(window time.Duration, maxKeys int) *model {
	return &model{window: window, maxKeys: maxKeys, last: map[KeyHash]Applied{}, left: map[KeyHash]bool{}}
}

func (m *model) note(k KeyHash, a Applied) {
	a.At = a.At.Truncate(time.Second)
	m.order = append(slices.DeleteFunc(m.order, func(o KeyHash) bool { return o == k }), k)
	m.last[k] = a
	delete(m.left, k)
}

func (m *model) expired(k KeyHash, now time.Time) bool { return now.Sub(m.last[k].At) > m.window }

// pass records which keys a ledger may have swept by now.
func (m *model) pass(now time.Time) {
	for k := range m.last {
		if m.expired(k, now) {
			m.left[k] = true
		}
	}
}

// must reports whether a key must be known, and whether it may be known.
func (m *model) must(k KeyHash, now time.Time) (must, may bool) {
	if _, noted := m.last[k]; !noted || m.expired(k, now) {
		return false, false
	}
	newer := len(m.order) - 1 - slices.Index(m.order, k)
	inNumber := newer < m.maxKeys
	return inNumber && !m.left[k], true
}

// A ledger and its model get the same calls. They agree exactly while the clock only moves forward. If the clock
// jumps, a key may have been swept at a time later than the present one, and a key beyond the limit may still be
// known because a swept key left room. Whatever the ledger has is correct.
func TestLedger_as_its_model(t *testing.T) {
	for _, c := range []struct {
		name          string
		keys, maxKeys int
		jumps         bool
	}{
		{"S2-4_clock_goes_on", 300, 120, false},
		{"S2-4_more_room_than_keys", 300, 1000, false},
		{"S2-4_one_key", 5, 1, false},
		{"S2-4_clock_jumps", 300, 120, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(3) {
				drive(t, rand.New(rand.NewPCG(seed, 1)), c.keys, c.maxKeys, c.jumps)
			}
		})
	}
}

func drive(t *testing.T, r *rand.Rand, keys, maxKeys int, jumps bool) {
	t.Helper()
	const window = 5 * time.Minute
	l, m, now := NewLedger(window, maxKeys), newModel(window, maxKeys), start
	for step := range 6000 {
		k := keyOf(r.IntN(keys))
		now = now.Add(time.Duration(r.Int64N(int64(2 * time.Second))))
		if jumps && r.IntN(50) == 0 {
			now = now.Add(time.Duration(r.Int64N(int64(10*time.Minute))) - 5*time.Minute)
		}
		if r.IntN(2) == 0 {
			a := Applied{Version: int64(r.Uint64()), Offset: int64(r.Uint64()), At: now}
			l.Note(k, a)
			m.note(k, a)
		} else {
			if jumps { // with a monotonic clock, a key that has left the window stays outside
				m.pass(now)
			}
			got, known := l.Last(k, now)
			least, most := m.must(k, now)
			must.That(t, (!known || most) && (known || !least) && (jumps || known == least), "step %d: known = %v, must %v, may %v", step, known, least, most)
			must.That(t, !known || got == m.last[k], "step %d: %+v, want %+v", step, got, m.last[k])
		}
		must.That(t, l.Len() <= maxKeys, "step %d: %d keys, at most %d", step, l.Len(), maxKeys)
		if step%1000 == 0 {
			checkLedger(t, l)
		}
	}
	checkLedger(t, l)
}
