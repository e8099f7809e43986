package world

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Ways in which a dependency that all handlers ask can be down.
const (
	DownHeld  = "held"  // everybody knows: a circuit breaker is open
	DownFails = "fails" // each attempt fails transiently
)

// ProbeAfter is how long an open breaker lets nobody ask.
const ProbeAfter = 2 * time.Second

// Break takes a dependency down in one of the ways, and returns when it is up again.
func (w *World) Break(how string, d time.Duration) {
	w.Tell("a dependency is down (%s) for %s", how, d)
	w.fall(how, 1)
	w.Wait(d)
	w.fall(how, -1)
	w.Tell("the dependency (%s) is up again", how)
}

func (w *World) fall(how string, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down[how] += by
}

// outage is the error of an attempt while a dependency is down.
func (w *World) outage(in *Instance) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.down[DownHeld] > 0:
		return &retrytopics.UnavailableError{Dependency: "places", RetryAt: in.now().Add(ProbeAfter)}
	case w.down[DownFails] > 0:
		return unavailable(0)
	}
	return nil
}
