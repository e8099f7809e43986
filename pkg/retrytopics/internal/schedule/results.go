package schedule

import (
	"cmp"
	"slices"
	"time"
)

const (
	// paceTarget is how long a transaction should take. Results that finish meanwhile wait for the next one, so half of
	// the results are committed within about twice this time: 38 ms keep that below the 80 ms that bench/engine aims at.
	paceTarget = 38 * time.Millisecond
	// minPace is the least number of results per transaction, however long the last one took: a small transaction is
	// a poor measurement.
	minPace = 1000
)

// pace returns how many finished tasks may wait for a transaction before only those of the retry topics are started. The
// last transaction carried n tasks and took took. If workers run further ahead of the commits, less processor time is
// left for commits, and every result waits longer. It is pure.
func pace(n int, took time.Duration) int {
	return max(minPace, int(float64(n)*float64(paceTarget)/float64(max(took, time.Millisecond))))
}

// Pace sets how many finished tasks may wait from now on: as many as a transaction carries in the time that it should
// take, if it is as fast as the last one, which carried n tasks and took took.
func (s *Scheduler) Pace(n int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = pace(n, took)
	s.wakeWorker()
}

// Finish takes a finished task back; the next one of its key may run.
func (s *Scheduler) Finish(t *Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(t)
}

// finish is Finish with the mutex held.
func (s *Scheduler) finish(t *Task) {
	s.stop(t)
	if t.Partition.gone || s.closed {
		s.cfg.Late(t)
		return
	}
	if s.probed(t, t.Down); t.Down != nil {
		s.arm(s.cfg.Now())
	}
	s.finished(t)
	s.release(t)
	if len(s.ready) == 0 {
		s.readyAt = time.Now()
		reset(s.flush, s.cfg.Linger)
	}
	s.ready = append(s.ready, t)
	s.readyBytes += t.ResultBytes
	if s.full() {
		reset(s.flush, 0)
	}
}

// release gives the key of a finished task to the one behind it. The mutex is held.
func (s *Scheduler) release(t *Task) {
	switch {
	case !t.Keyed:
	case t.behind == nil:
		delete(t.Partition.keys, t.KeyHash)
	default:
		t.behind.hasKey = true
		s.enqueue(t.behind.queued())
		t.behind = nil
	}
}

// full reports whether results should not wait for more. The mutex is held.
func (s *Scheduler) full() bool { return len(s.ready) >= s.most || s.readyBytes >= s.readyMax }

// Harvest returns all finished tasks, which then belong to the caller.
func (s *Scheduler) Harvest() []*Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	ready := s.ready
	s.ready, s.readyBytes = make([]*Task, 0, len(ready)), 0
	s.wakeWorker()
	return ready
}

// Pending reports whether finished tasks should be committed, because they have waited for Linger or are many, and
// whether there are any.
func (s *Scheduler) Pending() (ripe, some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	some = len(s.ready) > 0
	return some && (s.full() || time.Since(s.readyAt) >= s.cfg.Linger), some
}

// ReadySince returns the time since which finished tasks have waited for their transaction; zero if there are none.
func (s *Scheduler) ReadySince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready) == 0 {
		return time.Time{}
	}
	return s.readyAt
}

// Stats is a snapshot of the waiting tasks.
type Stats struct {
	Deferred []Deferred // by dependency
	Tiers    []Tier     // by index of the retry topic
}

// Deferred counts the tasks that wait for an unavailable dependency.
type Deferred struct {
	Dependency string
	Records    int64
	RetryAt    time.Time // when one of them probes
}

// Tier is when the records of a retry topic are due. A time is zero if no record has it.
type Tier struct {
	Next     time.Time // the earliest one that is not due yet
	Runnable time.Time // the earliest one that is due and waits for a worker
}

// Stats returns a snapshot. tiers is the number of retry topics.
func (s *Scheduler) Stats(tiers int) Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := Stats{Deferred: s.deferred(), Tiers: make([]Tier, tiers)}
	for _, t := range s.waiting {
		tier := &stats.Tiers[t.Partition.Tier]
		tier.Next = earliest(tier.Next, t.Due)
	}
	for _, queue := range [][]Record{s.source.items(), s.due.items()} { // a probe is among the source's, whatever its partition
		for _, r := range queue {
			if r.Partition.Tier != Source && !r.Task.Due.IsZero() {
				tier := &stats.Tiers[r.Partition.Tier]
				tier.Runnable = earliest(tier.Runnable, r.Task.Due)
			}
		}
	}
	return stats
}

// earliest returns the earlier one of two times, where zero is none.
func earliest(known, t time.Time) time.Time {
	if known.IsZero() || t.Before(known) {
		return t
	}
	return known
}

// deferred returns the tasks that wait for dependencies. The mutex is held.
func (s *Scheduler) deferred() []Deferred {
	var all []Deferred
	for name, h := range s.deferrals {
		n := int64(h.waiting())
		if h.probing != nil {
			n++
		}
		all = append(all, Deferred{name, n, h.until})
	}
	slices.SortFunc(all, func(a, b Deferred) int { return cmp.Compare(a.Dependency, b.Dependency) })
	return all
}
