package gates

import (
	"slices"
	"time"
)

// Suspend clears all counts, as [Gates.Reset] does, and stops the judging of windows until a time; the zero time ends
// the suspension. The windows then start empty. A separately handled batch is judged nevertheless, because it stops
// nobody else.
func (g *Gates) Suspend(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.suspended = until
	g.reset()
}

// Suspended reports whether the windows are not judged at a time.
func (g *Gates) Suspended(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return now.Before(g.suspended)
}

// settle ends an expired suspension: what was counted meanwhile no longer counts. The mutex is held.
func (g *Gates) settle(now time.Time) {
	if !g.suspended.IsZero() && !now.Before(g.suspended) {
		g.suspended = time.Time{}
		g.reset()
	}
}

// unsuspended returns the breaches that count during a suspension. The mutex is held, and settle was called.
func (g *Gates) unsuspended(broken []Breach) []Breach {
	if g.suspended.IsZero() {
		return broken
	}
	return slices.DeleteFunc(broken, func(b Breach) bool { return b.Batch == "" || !g.limits.ApartBatches })
}
