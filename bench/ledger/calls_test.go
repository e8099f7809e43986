package ledger

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// BenchmarkCalls is the time of one call at a steady size, keys in random order.
func BenchmarkCalls(b *testing.B) {
	for _, keys := range sizes() {
		l := filled(keys, keys)
		measure(b, "Last_known", keys, func(i int) { l.Last(anyOf(i, keys), start) })
		measure(b, "Last_unknown", keys, func(i int) { l.Last(keyOf(-1-i), start) })
		measure(b, "Note_again", keys, func(i int) { l.Note(anyOf(i, keys), applied(i, start)) })
		next := keys
		measure(b, "Note_in_place_of_the_oldest", keys, func(i int) {
			l.Note(keyOf(next), applied(i, start))
			next++
		})
	}
}

// BenchmarkWindow is a shard in its stride: each call adds a new key while an
// old one leaves the window, at a steady size.
func BenchmarkWindow(b *testing.B) {
	for _, keys := range sizes() {
		l, next := idempotency.NewLedger(window, 0), 0
		step := window / time.Duration(keys)
		turn := func(int) {
			now := start.Add(time.Duration(next) * step)
			l.Last(keyOf(next), now)
			l.Note(keyOf(next), applied(next, now))
			next++
		}
		for next < keys+keys/2 {
			turn(0)
		}
		measure(b, "Last_and_Note", keys, turn)
	}
}

// BenchmarkGoMap is the same fields in a Go map, which keeps no order and so
// could not drop the oldest; it is here for the ratio.
func BenchmarkGoMap(b *testing.B) {
	type value struct {
		content         [8]byte
		version, offset int64
		at              uint32
	}
	of := func(i int) value {
		return value{content: [8]byte{byte(i)}, version: int64(i), offset: int64(i), at: uint32(i)}
	}
	for _, keys := range sizes() {
		before := heap()
		m := map[idempotency.KeyHash]value{}
		for i := range keys {
			m[keyOf(i)] = of(i)
		}
		size := (heap() - before) / float64(keys)
		b.Run(fmt.Sprintf("size/keys=%d", keys), func(b *testing.B) {
			for b.Loop() {
				runtime.KeepAlive(m)
			}
			b.ReportMetric(size, "B/key")
		})
		measure(b, "known", keys, func(i int) { _ = m[anyOf(i, keys)] })
		measure(b, "again", keys, func(i int) { m[anyOf(i, keys)] = of(i) })
	}
}

func BenchmarkHashKey(b *testing.B) {
	key := []byte("municipality-4711/parcel-17")
	measure(b, "HashKey", 1, func(int) { idempotency.HashKey(key) })
	text := idempotency.Of(key).String()
	measure(b, "ContentOf", 1, func(int) { idempotency.ContentOf(text) })
}
