package idempotency

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// checkLedger proves that list, table and entries tell of the same keys.
func checkLedger(t *testing.T, l *Ledger) {
	t.Helper()
	before, count := uint32(none), 0
	for at := l.oldest; at != none; at = l.entries.at(at).newer {
		e := l.entries.at(at)
		must.That(t, e.older == before, "entry %d: the older one is %d, want %d", at, e.older, before)
		must.Equal(t, l.table.find(l.hash(&e.key), &e.key, &l.entries), at, "entry")
		if count++; count > l.Len() {
			t.Fatalf("the list is longer than %d keys", l.Len())
		}
		before = at
	}
	must.That(t, before == l.newest && count == l.Len(), "the list ends at %d of %d after %d of %d keys", before, l.newest, count, l.Len())
	checkTable(t, l)
}

// checkTable proves that every figure of the table is what a count gives.
func checkTable(t *testing.T, l *Ledger) {
	t.Helper()
	d := &l.table
	must.That(t, len(d.directory) == 1<<d.depth, "%d places in a directory of depth %d", len(d.directory), d.depth)
	segments, deepest, keys := 0, 0, 0
	for i := 0; i < len(d.directory); {
		s := d.directory[i]
		length := 1 << (d.depth - s.depth)
		must.That(t, i%length == 0, "a segment of depth %d begins at %d", s.depth, i)
		for j := i; j < i+length; j++ {
			must.That(t, d.directory[j] == s, "place %d holds another segment than place %d", j, i)
		}
		if s.depth == d.depth {
			deepest++
		}
		segments, keys, i = segments+1, keys+checkSegment(t, l, s), i+length
	}
	must.That(t, segments == d.segments && deepest == d.deepest && keys == l.Len(),
		"segments %d, deepest %d, keys %d; counted %d, %d, %d", d.segments, d.deepest, l.Len(), segments, deepest, keys)
}

func checkSegment(t *testing.T, l *Ledger, s *segment) (keys int) {
	t.Helper()
	var over [segmentBuckets]uint16
	for b := range s.buckets {
		for i, tag := range s.buckets[b].tags {
			if tag == 0 {
				continue
			}
			keys++
			for home := bucketOf(l.hashAt(s.buckets[b].places[i])); home != b; home = nextBucket(home) {
				over[home]++
			}
		}
	}
	for b := range s.buckets {
		if s.buckets[b].over != over[b] {
			t.Fatalf("bucket %d counts %d keys that went past it, there are %d", b, s.buckets[b].over, over[b])
		}
	}
	must.That(t, keys == int(s.used) && keys <= splitAt, "a segment counts %d keys and holds %d, at most %d", s.used, keys, splitAt)
	return keys
}

// bytesPerKey fails when the ledger is larger than it may be at its size.
func bytesPerKey(t *testing.T, l *Ledger) float64 {
	t.Helper()
	per := float64(l.Bytes()) / float64(l.Len())
	must.That(t, l.Len() < 10_000 || per <= 64, "%.2f bytes per key at %d keys", per, l.Len())
	return per
}

// Every size on the way up and down is looked at, not a chosen few.
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
	for l.Len() > 10_000 {
		l.Last(keyOf(0), later)
		worstDown = max(worstDown, bytesPerKey(t, l))
	}
	checkLedger(t, l)
	for i := range keys / 2 { // the freed memory is used again
		l.Note(keyOf(-i), appliedAt(i, later))
		bytesPerKey(t, l)
	}
	checkLedger(t, l)
	for l.Len() > 0 {
		l.Last(keyOf(0), later.Add(2*time.Hour))
	}
	checkLedger(t, l)
	expect.That(t, l.Bytes() <= 64*1024, "an empty ledger holds %d bytes", l.Bytes())
	t.Logf("worst bytes per key: %.2f growing, %.2f shrinking", worstUp, worstDown)
}

// model is the ledger as anybody would write it first: a map and a list.
type model struct {
	window  time.Duration
	maxKeys int
	last    map[KeyHash]Applied
	order   []KeyHash        // oldest note first
	left    map[KeyHash]bool // out of the window at some now since its last note
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

// pass says which keys a ledger may have swept by now.
func (m *model) pass(now time.Time) {
	for k := range m.last {
		if m.expired(k, now) {
			m.left[k] = true
		}
	}
}

// must and may say whether a key must or may be known.
func (m *model) must(k KeyHash, now time.Time) (must, may bool) {
	if _, noted := m.last[k]; !noted || m.expired(k, now) {
		return false, false
	}
	newer := len(m.order) - 1 - slices.Index(m.order, k)
	inNumber := newer < m.maxKeys
	return inNumber && !m.left[k], true
}

// TestLedger_as_its_model drives a ledger and its model side by side. With a
// clock that only goes on, they agree exactly. With one that jumps, a key may
// have been swept at a later time than the present one, and a key beyond the
// limit may live on in the room of a swept one; whatever is known is right.
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
			if jumps { // without, what has left the window stays out of it
				m.pass(now)
			}
			got, known := l.Last(k, now)
			least, most := m.must(k, now)
			must.That(t, (!known || most) && (known || !least) && (jumps || known == least), "step %d: known = %v, must %v, may %v", step, known, least, most)
			if known && got != m.last[k] {
				t.Fatalf("step %d: %+v, want %+v", step, got, m.last[k])
			}
		}
		must.That(t, l.Len() <= maxKeys, "step %d: %d keys, at most %d", step, l.Len(), maxKeys)
		if step%1000 == 0 {
			checkLedger(t, l)
		}
	}
	checkLedger(t, l)
}

// The table itself, with enough keys for hundreds of segments that split and
// merge, against a plain map.
func TestLedger_as_a_plain_map_at_size(t *testing.T) {
	const keys = 150_000
	r := rand.New(rand.NewPCG(7, 7))
	l, want := NewLedger(time.Hour, 0), map[int]int{}
	for i := range 2 * keys {
		k := r.IntN(keys)
		l.Note(keyOf(k), appliedAt(i, start))
		want[k] = i
	}
	must.That(t, l.Len() == len(want), "%d keys, want %d", l.Len(), len(want))
	for k := range keys + 1000 {
		i, noted := want[k]
		got, known := l.Last(keyOf(k), start)
		must.That(t, known == noted && (!known || got == appliedAt(i, start)), "key %d: %+v, %v; want number %d, %v", k, got, known, i, noted)
	}
	checkLedger(t, l)
}
