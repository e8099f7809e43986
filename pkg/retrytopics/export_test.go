package retrytopics

import "time"

// Hurry makes the engine repeat its background work, failed transactions and failed sessions after d. Call it before Run.
func (e *Engine) Hurry(d time.Duration) {
	e.intervals = intervals{look: d, purge: d, restart: d}
	e.trouble.first = d
}
