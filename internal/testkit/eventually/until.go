package eventually

import (
	"context"
	"testing"
	"time"
)

// interval is the shortest time between two checks of a condition.
const interval = 20 * time.Millisecond

// rest is the wait before the next check, relative to the duration of the last one. Checks that run complete commands
// would otherwise slow down the process that they observe.
const rest = 2

// Until returns when cond reports true. If the context ends first, it fails the test with the condition and the last
// state that cond saw.
func Until(ctx context.Context, t testing.TB, what string, cond func() (ok bool, saw string)) {
	t.Helper()
	for {
		began := time.Now()
		ok, saw := cond()
		if ok {
			return
		}
		select {
		case <-time.After(max(interval, rest*time.Since(began))):
		case <-ctx.Done():
			t.Fatalf("waited for %s: %v; last seen: %s", what, ctx.Err(), saw)
		}
	}
}
