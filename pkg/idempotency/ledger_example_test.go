package idempotency_test

import (
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// An event that equals the last one applied for its key is a duplicate; one
// that equals an earlier one is a change back.
func ExampleLedger() {
	ledger := idempotency.NewLedger(24*time.Hour, 1_000_000)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	key := idempotency.HashKey([]byte("parcel-17"))
	for offset, area := range []string{"12", "12", "13", "12"} {
		hash := idempotency.Of([]byte("parcel-17"), []byte(area)).String()
		content, _ := idempotency.ContentOf(hash)
		if last, ok := ledger.Last(key, now); ok && last.Content == content {
			fmt.Println(area, "is a duplicate of offset", last.Offset)
			continue
		}
		ledger.Note(key, idempotency.Applied{Content: content, Offset: int64(offset), At: now})
		fmt.Println(area, "takes effect")
	}
	// Output:
	// 12 takes effect
	// 12 is a duplicate of offset 0
	// 13 takes effect
	// 12 takes effect
}

// The changes of one transaction are one record of the ledger topic; whoever
// owns the shard next restores them.
func ExampleLedger_Restore() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	record := idempotency.AppendChanges(nil, []idempotency.Change{
		{Key: idempotency.HashKey([]byte("parcel-17")), Applied: idempotency.Applied{Offset: 41, At: now}},
		{Key: idempotency.HashKey([]byte("parcel-18")), Applied: idempotency.Applied{Offset: 42, At: now}},
	})
	next := idempotency.NewLedger(24*time.Hour, 1_000_000)
	err := next.Restore(record, now.Add(time.Minute))
	last, known := next.Last(idempotency.HashKey([]byte("parcel-18")), now.Add(time.Minute))
	fmt.Println(len(record), "bytes,", next.Len(), "keys,", err)
	fmt.Println(last.Offset, known)
	// Output:
	// 52 bytes, 2 keys, <nil>
	// 42 true
}
