package ledger

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
)

const window = time.Hour

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sizes are numbers of keys; -short leaves out those that take gigabytes or minutes.
func sizes() []int {
	if testing.Short() {
		return []int{10_000, 100_000, 1_000_000}
	}
	return []int{10_000, 100_000, 1_000_000, 10_000_000}
}

// keyOf makes the i-th key. It mixes instead of hashing with SHA-256, whose
// time would hide the ledger's; BenchmarkHashKey measures that on its own.
func keyOf(i int) (k idempotency.KeyHash) {
	binary.LittleEndian.PutUint64(k[:8], mix(uint64(i)))
	binary.LittleEndian.PutUint32(k[8:], uint32(mix(uint64(i)+1<<40)))
	return k
}

// mix is the finalizer of splitmix64, a bijection.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// anyOf picks one of n keys without order, so that no cache helps.
func anyOf(i, n int) idempotency.KeyHash { return keyOf(int(mix(uint64(i)) % uint64(n))) }

func applied(i int, at time.Time) idempotency.Applied {
	return idempotency.Applied{Version: int64(i), Offset: int64(i), At: at}
}

func filled(keys int, maxKeys int) *idempotency.Ledger {
	l := idempotency.NewLedger(window, maxKeys)
	for i := range keys {
		l.Note(keyOf(i), applied(i, start))
	}
	return l
}

// measure runs a sub-benchmark that also reports processor time.
func measure(b *testing.B, name string, keys int, call func(i int)) {
	b.Helper()
	b.Run(fmt.Sprintf("%s/keys=%d", name, keys), func(b *testing.B) {
		b.ReportAllocs()
		before, i := processCPU(), 0
		for b.Loop() {
			call(i)
			i++
		}
		b.ReportMetric(float64(processCPU()-before)/float64(b.N), cpuUnit)
	})
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
