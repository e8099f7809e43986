package engine

import (
	"cmp"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/session"
)

// An operator or a rate gate pauses the engine for all records, and ends the pause. An UnavailableError is the
// opposite: it concerns one dependency and ends on its own.

// Pause pauses the engine, now or from the start of its next run: it accepts no records from the source and the tiers and
// begins no attempt. Running attempts finish. A successful one is committed; a failed one is put back and does not
// count, so neither the record's attempts nor the DLQ change. The instance stays in its group and keeps its partitions.
// Stats has the reason; a second Pause replaces it. An empty reason is "paused".
func (e *Engine) Pause(reason string) { e.setPaused(cmp.Or(reason, "paused")) }

// Resume ends the pause. Records that were put back run first.
func (e *Engine) Resume() { e.setPaused("") }

func (e *Engine) setPaused(reason string) {
	e.pausing.Lock()
	defer e.pausing.Unlock()
	e.in.Attempts.Paused.Store(&reason)
	if s := e.current.Load(); s != nil {
		s.Sched.Pause(reason != "")
	}
}

// Paused returns the reason of the pause, or "".
func (e *Engine) Paused() string { return e.in.Attempts.PausedFor() }

// enter makes s the engine's session and pauses it if the engine is paused.
func (e *Engine) enter(s *session.Session) {
	e.pausing.Lock()
	defer e.pausing.Unlock()
	e.current.Store(s)
	s.Sched.Pause(e.Paused() != "")
}
