package eventually

import (
	"context"
	"testing"
	"time"
)

// interval between two looks at a condition: short against what a test waits
// for, long against the cost of a look.
const interval = 20 * time.Millisecond

// Until returns when cond reports true. It fails the test, naming what was waited
// for and the last thing the condition saw, when the context ends first.
func Until(ctx context.Context, t testing.TB, what string, cond func() (ok bool, saw string)) {
	t.Helper()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		ok, saw := cond()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited for %s: %v; last seen: %s", what, ctx.Err(), saw)
		}
	}
}
