package schedule

import (
	"slices"
	"time"
)

// Outage is a dependency that is down, as an attempt met it.
type Outage struct {
	Dependency string    // tasks are deferred and probed per dependency
	RetryAt    time.Time // when one task may probe
	Asked      bool      // the dependency was asked for this very record, and failed
}

// deferral has the tasks that wait for one dependency.
type deferral struct {
	until   time.Time
	fresh   []*Task // never failed, the oldest first
	failed  []*Task // failed, longest ago first
	probing *Task
	newest  bool // the newest of fresh probes next
}

// since is the moment at which a task began to wait for a dependency, as the number of probes that had succeeded.
type since struct {
	dependency string
	passes     int64
	asked      bool // without success
}

// turn takes the task that probes next. Tasks that never failed come first, alternately the oldest and the newest: a
// good record therefore probes soon, behind many bad ones or before them. The mutex is held.
func (h *deferral) turn() (t *Task) {
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

func (h *deferral) waiting() int { return len(h.fresh) + len(h.failed) }

// Defer keeps a task that met an outage until the dependency is back. It keeps its key, so order holds.
func (s *Scheduler) Defer(t *Task, o Outage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop(t)
	if t.Partition.gone {
		return
	}
	s.probed(t, &o)
	h := s.deferrals[o.Dependency]
	if h == nil {
		h = &deferral{}
		s.deferrals[o.Dependency] = h
	}
	h.later(o.RetryAt)
	if t.waits == nil || t.waits.dependency != o.Dependency {
		t.waits = &since{dependency: o.Dependency, passes: s.passes[o.Dependency], asked: t.Retried}
	}
	if t.waits.asked = t.waits.asked || o.Asked; t.waits.asked {
		h.failed = append(h.failed, t)
	} else {
		h.fresh = append(h.fresh, t)
	}
	s.arm(s.cfg.Now())
}

func (h *deferral) later(at time.Time) {
	if at.After(h.until) {
		h.until = at
	}
}

// Counts reports whether a task's failure is its own and not the dependency's: other records succeeded since it began
// to wait.
func (s *Scheduler) Counts(t *Task, o Outage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := t.waits
	return o.Asked && w != nil && w.dependency == o.Dependency && s.passes[o.Dependency] > w.passes
}

// probed handles the return of a task. If it was the probe of a dependency and did not meet its outage again, the tasks
// that wait for the dependency are released. The mutex is held.
func (s *Scheduler) probed(t *Task, again *Outage) {
	for name, h := range s.deferrals {
		if h.probing != t {
			continue
		}
		h.probing = nil
		if again != nil && name == again.Dependency {
			h.later(again.RetryAt)
			continue
		}
		s.passes[name]++
		for _, deferred := range h.fresh {
			s.source.push(deferred.queued())
		}
		for _, deferred := range h.failed {
			s.source.push(deferred.queued())
		}
		delete(s.deferrals, name)
		s.wakeWorker()
	}
}

// probe lets one record try each dependency whose probe is due. The mutex is held.
func (s *Scheduler) probe(now time.Time) {
	for name, h := range s.deferrals {
		switch {
		case h.probing != nil || h.until.After(now):
		case h.waiting() == 0:
			delete(s.deferrals, name)
		default:
			h.probing = h.turn()
			s.source.push(h.probing.queued())
			s.wakeWorker()
		}
	}
}

// nextProbe returns the earliest time at which a dependency may be probed. The mutex is held.
func (s *Scheduler) nextProbe() (at time.Time, ok bool) {
	for _, h := range s.deferrals {
		if h.probing == nil && (!ok || h.until.Before(at)) {
			at, ok = h.until, true
		}
	}
	return at, ok
}

// dropDeferred drops the deferred tasks of revoked partitions. The mutex is held.
func (s *Scheduler) dropDeferred(dropped func(*Task) bool) {
	for name, h := range s.deferrals {
		h.fresh, h.failed = slices.DeleteFunc(h.fresh, dropped), slices.DeleteFunc(h.failed, dropped)
		if h.probing != nil && dropped(h.probing) {
			h.probing = nil
		}
		if h.waiting() == 0 && h.probing == nil {
			delete(s.deferrals, name)
		}
	}
}
