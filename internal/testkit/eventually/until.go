package eventually

import (
	"context"
	"testing"
	"time"
)

// interval is the least time between two looks at a condition.
const interval = 20 * time.Millisecond

// rest is how many times as long as a look took the next one waits: looks by whole commands would slow what they wait for.
const rest = 2

// Until returns when cond reports true. It fails the test, naming what was waited
// for and the last thing the condition saw, when the context ends first.
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
