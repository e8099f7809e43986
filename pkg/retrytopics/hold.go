package retrytopics

import (
	"fmt"
	"slices"
	"time"
)

// HoldError says that something a record needs is down, and everybody knows: a circuit breaker is open. It is not the
// record's failure, so it spends no attempt and never leads to the DLQ. The engine keeps the record, and all that meet the
// same error, in memory; at RetryAt it lets one of them try, and the others follow once that one got through. Meanwhile
// the instance takes no more from Kafka than it can hold.
type HoldError struct {
	Dependency string    // what is down; records are held and probed per dependency
	RetryAt    time.Time // when one record may probe
	Err        error     // optional cause
}

// Error says what is held back and until when nothing is tried.
func (e *HoldError) Error() string {
	text := fmt.Sprintf("%s is held back: nothing is tried until %s", e.Dependency, FormatTime(e.RetryAt))
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *HoldError) Unwrap() error { return e.Err }

// hold is what waits for one dependency.
type hold struct {
	until   time.Time
	tasks   []*task
	probing *task
}

// hold keeps a task that met a HoldError. Its key stays taken, so that order holds.
func (s *scheduler) hold(t *task, e *HoldError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop(t)
	if t.lane.dead {
		return
	}
	s.probed(t, e.Dependency)
	h := s.holds[e.Dependency]
	if h == nil {
		h = &hold{}
		s.holds[e.Dependency] = h
	}
	if e.RetryAt.After(h.until) {
		h.until = e.RetryAt
	}
	h.tasks = append(h.tasks, t)
	s.arm(s.now())
}

// probed notes that a task has come back. If it was the probe of a dependency and did not meet its HoldError again, what
// is held for it is set free. The mutex is held.
func (s *scheduler) probed(t *task, again string) {
	for name, h := range s.holds {
		if h.probing != t {
			continue
		}
		h.probing = nil
		if name == again {
			continue
		}
		for _, held := range h.tasks {
			s.runnable.push(held.taken())
		}
		delete(s.holds, name)
		s.rouse()
	}
}

// probe lets one record try each dependency whose time has come. The mutex is held.
func (s *scheduler) probe(now time.Time) {
	for name, h := range s.holds {
		switch {
		case h.probing != nil || h.until.After(now):
		case len(h.tasks) == 0:
			delete(s.holds, name)
		default:
			h.probing, h.tasks = h.tasks[0], h.tasks[1:]
			s.runnable.push(h.probing.taken())
			s.rouse()
		}
	}
}

// nextProbe gives the earliest time at which a dependency may be probed. The mutex is held.
func (s *scheduler) nextProbe() (at time.Time, ok bool) {
	for _, h := range s.holds {
		if h.probing == nil && (!ok || h.until.Before(at)) {
			at, ok = h.until, true
		}
	}
	return at, ok
}

// dropHeld forgets held tasks of lanes that are gone. The mutex is held.
func (s *scheduler) dropHeld(dead func(*task) bool) {
	for name, h := range s.holds {
		h.tasks = slices.DeleteFunc(h.tasks, dead)
		if h.probing != nil && dead(h.probing) {
			h.probing = nil
		}
		if len(h.tasks) == 0 && h.probing == nil {
			delete(s.holds, name)
		}
	}
}
