package idempotency

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// readChanges is a second, simple reader of packed records, written from the layout alone. It does not check that a
// record is canonical.
func readChanges(value []byte) (changes []Change, err error) {
	in := bytes.NewReader(value)
	if format, err := in.ReadByte(); err != nil || format != 1 {
		return nil, fmt.Errorf("format %d (%w)", format, err)
	}
	count, err := binary.ReadUvarint(in)
	var at, offset, version int64
	for ; err == nil && count > 0; count-- {
		var c Change
		steps := [3]int64{}
		_, err = io.ReadFull(in, c.Key[:])
		if err == nil {
			_, err = io.ReadFull(in, c.Applied.Content[:])
		}
		for i := 0; i < 3 && err == nil; i++ {
			steps[i], err = binary.ReadVarint(in)
		}
		at, offset, version = at+steps[0], offset+steps[1], version+steps[2]
		c.Applied.At, c.Applied.Offset, c.Applied.Version = time.Unix(at, 0).UTC(), offset, version
		changes = append(changes, c)
	}
	return changes, err
}

// sameAs fails if the ledger does not have exactly the last change of each key.
func sameAs(t *testing.T, l *Ledger, changes []Change) {
	t.Helper()
	want := map[KeyHash]Applied{}
	for _, c := range changes {
		want[c.Key] = c.Applied
	}
	got := map[KeyHash]Applied{}
	for k := range maps.Keys(want) {
		if a, known := l.Last(k, start); known {
			got[k] = a
		}
	}
	must.That(t, l.Len() == len(want) && maps.Equal(got, want), "%d keys %v, want %d %v", l.Len(), got, len(want), want)
}

func randomChanges(r *rand.Rand, n int) []Change {
	extremes := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, start.UnixNano()}
	number := func() int64 {
		if r.IntN(2) == 0 {
			return extremes[r.IntN(len(extremes))]
		}
		return int64(r.Uint64() >> r.IntN(64))
	}
	changes := make([]Change, n)
	for i := range changes {
		at := time.Unix(int64(r.Uint32()), 0).UTC()
		changes[i] = Change{Key: keyOf(r.IntN(2 * n)), Applied: Applied{Version: number(), Offset: number(), At: at}}
		binary.BigEndian.PutUint64(changes[i].Applied.Content[:], r.Uint64())
	}
	return changes
}

func TestAppendChanges_round_trip(t *testing.T) {
	for n := range 60 {
		changes := randomChanges(rand.New(rand.NewPCG(uint64(n), 3)), n)
		value := AppendChanges([]byte("before"), changes)
		must.That(t, bytes.HasPrefix(value, []byte("before")), "the former content of dst is lost")
		value = value[len("before"):]
		limit := (n + 1) * MaxChangeSize
		must.That(t, len(value) <= limit, "%d changes take %d bytes, want at most %d", n, len(value), limit)
		l := NewLedger(0, 0)
		must.Do(t, l.Restore(value, start))
		sameAs(t, l, changes)
		read, err := readChanges(value)
		must.That(t, err == nil && len(read) == n, "the second reader finds %d changes, %v; want %d", len(read), err, n)
		read, err = ReadChanges(value)
		must.That(t, err == nil && slices.Equal(read, changes), "read as %v, %v; want %v", read, err, changes)
	}
}

func TestRestore_refuses(t *testing.T) {
	good := AppendChanges(nil, randomChanges(rand.New(rand.NewPCG(1, 1)), 2))
	change := func(count byte, tail ...byte) []byte {
		return append(append([]byte{1, count}, make([]byte, 20)...), tail...)
	}
	tooLong := bytes.Repeat([]byte{0xff}, 10)
	cases := []struct {
		name  string
		value []byte
		want  error
	}{
		{"nothing", nil, ErrBrokenLedger},
		{"version_0", []byte{0, 0}, ErrBrokenLedger},
		{"version_2", append([]byte{2}, good[1:]...), ErrNewerLedger},
		{"version_2_of_another_shape", []byte{2}, ErrNewerLedger},
		{"version_255", []byte{255, 1, 2, 3}, ErrNewerLedger},
		{"no_count", []byte{1}, ErrBrokenLedger},
		{"count_of_65_bits", append([]byte{1}, tooLong...), ErrBrokenLedger},
		{"count_in_a_long_form", append([]byte{1, 0x82, 0}, good[2:]...), ErrBrokenLedger},
		{"count_beyond_the_bytes", append([]byte{1, 3}, good[2:]...), ErrBrokenLedger},
		{"count_of_all_memory", []byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, ErrBrokenLedger},
		{"bytes_behind_the_last", append(bytes.Clone(good), 0), ErrBrokenLedger},
		{"no_change_and_bytes_behind", []byte{1, 0, 0}, ErrBrokenLedger},
		{"time_before_1970", change(1, 1, 0, 0), ErrBrokenLedger},
		{"time_after_2106", change(1, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 0), ErrBrokenLedger},
		{"offset_in_a_long_form", change(1, 2, 0x80, 0, 0), ErrBrokenLedger},
		{"version_of_65_bits", change(1, append([]byte{2, 0}, tooLong...)...), ErrBrokenLedger},
	}
	for i := range good {
		cases = append(cases, struct {
			name  string
			value []byte
			want  error
		}{fmt.Sprintf("cut_at_%d", i), good[:i], ErrBrokenLedger})
	}
	for _, c := range cases {
		l := NewLedger(time.Hour, 10)
		l.Note(keyOf(-1), appliedAt(1, start))
		err := l.Restore(c.value, start)
		expect.That(t, errors.Is(err, c.want), "%v: Restore(%x) = %v, want %v", c.name, c.value, err, c.want)
		got, ok := l.Last(keyOf(-1), start)
		expect.That(t, l.Len() == 1 && ok && got == appliedAt(1, start), "%v: a record that is refused has left its mark: %d keys", c.name, l.Len())
	}
}

// The topic keeps records for longer than the window. Keys that have left the window take no memory.
func TestRestore_sweeps_what_left_the_window(t *testing.T) {
	l := NewLedger(time.Hour, 0)
	for batch := range 1000 {
		changes := make([]Change, 100)
		for i := range changes {
			changes[i] = Change{keyOf(batch*100 + i), appliedAt(i, start.Add(time.Duration(batch)*time.Minute))}
		}
		must.Do(t, l.Restore(AppendChanges(nil, changes), start.Add(999*time.Minute)))
		must.That(t, l.Len() <= 61*100, "batch %d: %d keys", batch, l.Len())
	}
	for i := range 100_000 {
		_, known := l.Last(keyOf(i), start.Add(999*time.Minute))
		must.That(t, known == (i/100 >= 999-60), "key %d known = %v", i, known)
	}
}

// Restore returns an error and notes nothing, or it notes exactly the changes. The bytes are then the only text of these
// changes. The memory is in proportion to the bytes.
func FuzzRestore(f *testing.F) {
	for n := range 4 {
		f.Add(AppendChanges(nil, randomChanges(rand.New(rand.NewPCG(uint64(n), 2)), n)))
	}
	f.Add([]byte{2, 1})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f})
	empty := NewLedger(0, 0).Bytes()
	f.Fuzz(func(t *testing.T, value []byte) {
		l := NewLedger(0, 0)
		err := l.Restore(value, start)
		direct, readErr := ReadChanges(value)
		must.That(t, fmt.Sprint(readErr) == fmt.Sprint(err), "restored with %v, read with %v", err, readErr)
		must.That(t, l.Bytes() <= (empty+16*1024+4*len(value)), "%d bytes for a record of %d", l.Bytes(), len(value))
		if err != nil {
			must.That(t, (errors.Is(err, ErrNewerLedger) || errors.Is(err, ErrBrokenLedger)) && l.Len() <= 0, "%v, and %d keys", err, l.Len())
			return
		}
		changes := must.Get(readChanges(value))(t)
		must.That(t, slices.Equal(direct, changes), "read as %v, by the second reader as %v", direct, changes)
		sameAs(t, l, changes)
		again := AppendChanges(nil, changes)
		must.That(t, bytes.Equal(again, value), "%x comes back as %x", value, again)
	})
}
