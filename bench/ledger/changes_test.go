package ledger

import (
	"testing"

	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// changes of one transaction, one second of 500, as the engine writes them.
func changes(version func(i int) int64) []idempotency.Change {
	all := make([]idempotency.Change, 500)
	for i := range all {
		a := applied(i, start)
		a.Offset, a.Version = int64(1_000_000_000+3*i), version(i)
		all[i] = idempotency.Change{Key: keyOf(i), Applied: a}
	}
	return all
}

func versions() map[string]func(i int) int64 {
	return map[string]func(i int) int64{
		"offsets":      func(int) int64 { return 0 },
		"milliseconds": func(i int) int64 { return start.UnixMilli() + int64(i)*137%5000 },
		"nanoseconds":  func(i int) int64 { return start.UnixNano() + int64(i)*137_000_001%5_000_000_000 },
		"any_64_bits":  func(i int) int64 { return int64(mix(uint64(i))) },
	}
}

// BenchmarkChanges packs and restores one transaction's changes.
func BenchmarkChanges(b *testing.B) {
	for name, version := range versions() {
		all := changes(version)
		b.Run("Append/versions="+name, func(b *testing.B) {
			var record []byte
			for b.Loop() {
				record = idempotency.AppendChanges(record[:0], all)
			}
			report(b, len(record), len(all))
		})
		b.Run("Restore/versions="+name, func(b *testing.B) {
			record, l := idempotency.AppendChanges(nil, all), idempotency.NewLedger(window, 0)
			for b.Loop() {
				if err := l.Restore(record, start); err != nil {
					b.Fatal(err)
				}
			}
			report(b, len(record), len(all))
		})
	}
}

func report(b *testing.B, size, count int) {
	b.Helper()
	b.ReportMetric(float64(size)/float64(count), "B/change")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/change")
}
