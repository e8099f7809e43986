package retrytopics

import (
	"fmt"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// UnavailableError is a handler's error for a dependency that is known to be down, because its circuit breaker is open.
// It is not the record's failure: it spends no attempt and never leads to the DLQ. The engine keeps all records with
// this error in memory. At RetryAt one of them probes, and the others follow once it got through. Meanwhile the instance
// fetches no more from Kafka than it can hold. A record that fails although others got through while it waited has
// failed by itself: that counts as an attempt (see Asked and docs/decisions/0006).
type UnavailableError struct {
	Dependency string    // what is down; records are held and probed per dependency
	RetryAt    time.Time // when one record may probe
	Err        error     // optional cause
	Asked      bool      // the dependency was asked for this very record, and Err is its answer
}

// Error names the dependency and the time of the next probe.
func (e *UnavailableError) Error() string {
	text := fmt.Sprintf("%s is held back: nothing is tried until %s", e.Dependency, header.FormatTime(e.RetryAt))
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// hold has the tasks that wait for one dependency.
type hold struct {
	until   time.Time
	fresh   []*task // never failed, the oldest first
	failed  []*task // failed, longest ago first
	probing *task
	newest  bool // the newest of fresh probes next
}

// since is the moment a task began to wait for a dependency, as the number of probes that had got through.
type since struct {
	dependency string
	passes     int64
	asked      bool // without success
}

// turn takes the task that probes next. Tasks that never failed come first, alternately the oldest and the newest: so a
// good record probes soon, both behind many bad ones and before them. The mutex is held.
func (h *hold) turn() (t *task) {
	switch {
	case len(h.fresh) == 0:
		t, h.failed = h.failed[0], h.failed[1:]
		return t
	case h.newest:
		last := len(h.fresh) - 1
		t, h.fresh = h.fresh[last], h.fresh[:last]
	default:
		t, h.fresh = h.fresh[0], h.fresh[1:]
	}
	h.newest = !h.newest
	return t
}

func (h *hold) waiting() int { return len(h.fresh) + len(h.failed) }

// hold keeps a task that met an UnavailableError. It keeps its key, so order holds.
func (s *scheduler) hold(t *task, e *UnavailableError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop(t)
	if t.from.dead {
		return
	}
	s.probed(t, e)
	h := s.holds[e.Dependency]
	if h == nil {
		h = &hold{}
		s.holds[e.Dependency] = h
	}
	h.later(e.RetryAt)
	if t.waits == nil || t.waits.dependency != e.Dependency {
		t.waits = &since{dependency: e.Dependency, passes: s.passes[e.Dependency], asked: t.record.Attempt > 1}
	}
	if t.waits.asked = t.waits.asked || e.Asked; t.waits.asked {
		h.failed = append(h.failed, t)
	} else {
		h.fresh = append(h.fresh, t)
	}
	s.arm(s.now())
}

func (h *hold) later(at time.Time) {
	if at.After(h.until) {
		h.until = at
	}
}

// counts reports whether a task's failure is its own and not the dependency's: other records got through since it began
// to wait.
func (s *scheduler) counts(t *task, e *UnavailableError) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := t.waits
	return e.Asked && e.Err != nil && w != nil && w.dependency == e.Dependency && s.passes[e.Dependency] > w.passes
}

// probed handles the return of a task. If it was the probe of a dependency and did not meet its UnavailableError again,
// the tasks that wait for the dependency are released. The mutex is held.
func (s *scheduler) probed(t *task, again *UnavailableError) {
	for name, h := range s.holds {
		if h.probing != t {
			continue
		}
		h.probing = nil
		if again != nil && name == again.Dependency {
			h.later(again.RetryAt)
			continue
		}
		s.passes[name]++
		for _, held := range h.fresh {
			s.runnable.push(held.fetched())
		}
		for _, held := range h.failed {
			s.runnable.push(held.fetched())
		}
		delete(s.holds, name)
		s.wakeWorker()
	}
}

// probe lets one record try each dependency whose time has come. The mutex is held.
func (s *scheduler) probe(now time.Time) {
	for name, h := range s.holds {
		switch {
		case h.probing != nil || h.until.After(now):
		case h.waiting() == 0:
			delete(s.holds, name)
		default:
			h.probing = h.turn()
			s.runnable.push(h.probing.fetched())
			s.wakeWorker()
		}
	}
}

// nextProbe returns the earliest time at which a dependency may be probed. The mutex is held.
func (s *scheduler) nextProbe() (at time.Time, ok bool) {
	for _, h := range s.holds {
		if h.probing == nil && (!ok || h.until.Before(at)) {
			at, ok = h.until, true
		}
	}
	return at, ok
}

// dropHeld drops the held tasks of revoked partitions. The mutex is held.
func (s *scheduler) dropHeld(dead func(*task) bool) {
	for name, h := range s.holds {
		h.fresh, h.failed = slices.DeleteFunc(h.fresh, dead), slices.DeleteFunc(h.failed, dead)
		if h.probing != nil && dead(h.probing) {
			h.probing = nil
		}
		if h.waiting() == 0 && h.probing == nil {
			delete(s.holds, name)
		}
	}
}
