package retrytopics

import (
	"time"
)

// Hurry makes the engine repeat its background work, failed transactions and failed sessions after d. Call it before Run.
func (e *Engine) Hurry(d time.Duration) {
	e.intervals.look, e.intervals.purge, e.intervals.restart = d, d, d
	e.health.first = d
}

// RejoinWithin makes the group wait for the engine in a rebalance for d. Call it before Run.
func (e *Engine) RejoinWithin(d time.Duration) { e.intervals.rejoin = d }
