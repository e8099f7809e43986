package ledger

import (
	"runtime"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// BenchmarkSize fills a ledger and lets it run empty again, and looks at its
// bytes after every call: the worst bytes per key at any size from 10,000 up,
// and the longest single call in processor time.
func BenchmarkSize(b *testing.B) {
	all := sizes()
	keys := all[len(all)-1]
	for b.Loop() {
		runtime.LockOSThread() // threadCPU is this thread's
		before := heap()
		l := idempotency.NewLedger(window, 0)
		up := watch(l, keys, func(i int) { l.Note(keyOf(i), applied(i, start)) })
		held, full := heap()-before, l.Bytes()
		down := watch(l, keys, func(int) { l.Last(keyOf(0), start.Add(2*window)) })
		runtime.UnlockOSThread()
		b.ReportMetric(up.bytesPerKey, "worst-growing-B/key")
		b.ReportMetric(down.bytesPerKey, "worst-shrinking-B/key")
		b.ReportMetric(float64(full)/float64(keys), "full-B/key")
		b.ReportMetric(held/float64(full), "heap/Bytes")
		b.ReportMetric(float64(up.longest.Microseconds()), "longest-growing-µs")
		b.ReportMetric(float64(down.longest.Microseconds()), "longest-shrinking-µs")
		b.ReportMetric(float64(up.long+down.long), "calls-over-1ms")
	}
}

type worst struct {
	bytesPerKey float64
	longest     time.Duration
	long        int // calls above a millisecond
}

// watch makes n calls, or as many as it takes until the ledger is empty.
func watch(l *idempotency.Ledger, n int, call func(i int)) (w worst) {
	before := threadCPU()
	for i := range n {
		call(i)
		after := threadCPU()
		took := after - before
		before = after
		w.longest = max(w.longest, took)
		if took > time.Millisecond {
			w.long++
		}
		if held := l.Len(); held >= 10_000 {
			w.bytesPerKey = max(w.bytesPerKey, float64(l.Bytes())/float64(held))
		} else if held == 0 {
			break
		}
	}
	return w
}
