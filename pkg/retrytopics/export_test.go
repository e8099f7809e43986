package retrytopics

import (
	"time"
)

// Hurry makes the engine repeat its background work, failed transactions and failed sessions after d. Call it before Run.
func (e *Engine) Hurry(d time.Duration) {
	e.in.intervals.look, e.in.intervals.purge, e.in.intervals.restart = d, d, d
	e.in.health.first = d
}

// RejoinWithin makes the group wait for the engine in a rebalance for d. Call it before Run.
func (e *Engine) RejoinWithin(d time.Duration) { e.in.intervals.rejoin = d }
