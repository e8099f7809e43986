package gates

import (
	"slices"
	"time"
)

// Suspend forgets all that was counted, as [Gates.Reset] does, and keeps the windows from being judged until a time; the zero
// time ends that. They begin empty then. A batch that is dealt with by itself is judged all the same: it stops nobody else.
func (g *Gates) Suspend(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.suspended = until
	g.reset()
}

// Suspended says whether the windows are not judged at a time.
func (g *Gates) Suspended(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return now.Before(g.suspended)
}

// settle ends a suspension whose time is over: what was counted meanwhile counts no longer. The mutex is held.
func (g *Gates) settle(now time.Time) {
	if !g.suspended.IsZero() && !now.Before(g.suspended) {
		g.suspended = time.Time{}
		g.reset()
	}
}

// unsuspended gives what counts of what is broken. The mutex is held, and the time is settled.
func (g *Gates) unsuspended(broken []Breach) []Breach {
	if g.suspended.IsZero() {
		return broken
	}
	return slices.DeleteFunc(broken, func(b Breach) bool { return b.Batch == "" || !g.limits.ApartBatches })
}
