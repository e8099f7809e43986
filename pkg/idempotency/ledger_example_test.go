package idempotency_test

import (
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// An event that equals the last one applied for its key is a duplicate. One that equals an earlier one is a change back.
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
