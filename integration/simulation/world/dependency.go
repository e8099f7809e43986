package world

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Ways in which a dependency of all handlers can fail.
const (
	DownDeferred = "deferred" // a circuit breaker is open
	DownFails    = "fails"    // each attempt fails transiently
)

// ProbeAfter is the time for which an open breaker lets no request pass.
const ProbeAfter = 2 * time.Second

// Break stops a dependency in one of the ways, and returns when it works again.
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

// outage returns the error of an attempt while a dependency is down.
func (w *World) outage(in *Instance) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.down[DownDeferred] > 0:
		return &retrytopics.UnavailableError{Dependency: "places", RetryAt: in.now().Add(ProbeAfter)}
	case w.down[DownFails] > 0:
		return unavailable(0)
	}
	return nil
}
