package engine

import (
	"time"
)

// Hurry makes the engine repeat its background work, failed transactions and failed sessions after d. Call it before Run.
func (e *Engine) Hurry(d time.Duration) {
	e.in.Intervals.Look, e.in.Intervals.Purge, e.in.Intervals.Restart = d, d, d
	e.in.Health.First = d
}

// RejoinWithin sets how long the group waits for the engine in a rebalance. Call it before Run.
func (e *Engine) RejoinWithin(d time.Duration) { e.in.Intervals.Rejoin = d }

// PurgeEvery sets the period in which the engine purges its retry topics and looks for former ones. Call it before Run.
func (e *Engine) PurgeEvery(d time.Duration) { e.in.Intervals.Purge = d }
