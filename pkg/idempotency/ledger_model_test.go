package idempotency

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

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
