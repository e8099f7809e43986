package schedule

import (
	"container/heap"
	"slices"
	"sync"
	"time"
)

// Scheduler hands tasks to workers: each at its time, one at a time per key, keys concurrently. Its methods are safe for
// concurrent use.
type Scheduler struct {
	cfg Config

	mu             sync.Mutex // guards the following fields, and the unexported ones of tasks and partitions
	work           sync.Cond  // signals a runnable task, or closed
	waitingWorkers int        // workers that wait for work
	called         bool       // one of them is signalled; see wakeWorker
	idle           sync.Cond  // running has become 0
	running        int
	weight         int // bytes of the records in running tasks
	weightMax      int

	source  queue[Record] // runnable ones of the source
	due     queue[Record] // runnable ones of the retry topics: they do not queue behind the source's
	favour  bool          // the next one is taken from due
	waiting dueHeap
	timer   *time.Timer // surfaces; nil in a copy

	deferrals map[string]*deferral // by dependency
	passes    map[string]int64     // by dependency: probes that succeeded

	ready                []*Task // finished, not yet in a transaction
	readyBytes, readyMax int     // of their results
	most                 int     // with that many of them, only tasks of the retry topics are started; see pace
	readyAt              time.Time
	flush                *time.Timer // calls Ripe once results have waited; nil in a copy

	stopping    bool // nothing new is started, until the end
	paused      bool // nothing new is started, until the pause ends
	blocked     bool // nothing can be committed, so only probes are started; see probes
	uncommitted bool // an aborted transaction has left results
	closed      bool
}

// Config configures a scheduler.
type Config struct {
	Now        func() time.Time // the clock by which tasks wake
	Linger     time.Duration    // how long results wait for others
	Unfinished int64            // most unfinished records of a partition among its started ones; see gate
	HeldBytes  int              // the engine's byte limit: an eighth for running tasks, a quarter for results
	Ripe       func()           // called when results should be committed, and when a pause ends
	Late       func(*Task)      // receives a task that ended after its partition was dropped, or after Close; the mutex is held
}

// New returns a scheduler without records.
func New(c Config) *Scheduler {
	s := newStill(c)
	s.timer = time.AfterFunc(time.Hour, s.Surface)
	s.flush = time.AfterFunc(time.Hour, c.Ripe)
	return s
}

// newStill returns a scheduler without timers.
func newStill(c Config) *Scheduler {
	s := &Scheduler{
		cfg: c, deferrals: map[string]*deferral{}, passes: map[string]int64{}, most: minPace,
		weightMax: c.HeldBytes / 8, readyMax: c.HeldBytes / 4,
	}
	s.work.L, s.idle.L = &s.mu, &s.mu
	return s
}

// Add takes records in the order of their partition.
func (s *Scheduler) Add(records []Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	for _, r := range records {
		g := &r.Partition.gate
		if g.restored != r.Restored {
			g.restored = r.Restored
			s.startBlocked(g) // before r, which must not overtake it
		}
		switch {
		case r.Task == nil && r.Raw == nil:
			g.pass(r.Index)
		case r.Task != nil && r.Task.Wake.After(now):
			heap.Push(&s.waiting, r.Task)
		default:
			s.offer(r)
		}
	}
	s.arm(now)
}

// enqueue makes a record runnable. The mutex is held.
func (s *Scheduler) enqueue(r Record) {
	s.queueOf(r.Partition).push(r)
	s.wakeWorker()
}

// queueOf returns the queue of a partition's runnable records.
func (s *Scheduler) queueOf(p *Partition) *queue[Record] {
	if p.Tier == Source {
		return &s.source
	}
	return &s.due
}

// Surface enqueues the tasks that have become due, and lets dependencies be probed. A scheduler calls it on its own.
func (s *Scheduler) Surface() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	for len(s.waiting) > 0 && !s.waiting[0].Wake.After(now) {
		s.offer(heap.Pop(&s.waiting).(*Task).queued())
	}
	s.probe(now)
	s.arm(now)
}

// arm sets the timer to the next time at which something may run. The mutex is held.
func (s *Scheduler) arm(now time.Time) {
	at, some := s.nextProbe()
	if len(s.waiting) > 0 && (!some || s.waiting[0].Wake.Before(at)) {
		at, some = s.waiting[0].Wake, true
	}
	if some && !s.closed {
		reset(s.timer, max(at.Sub(now), 0))
	}
}

// reset sets a timer, if there is one.
func reset(t *time.Timer, d time.Duration) {
	if t != nil {
		t.Reset(d)
	}
}

// startable reports whether a worker may take a task. The mutex is held.
func (s *Scheduler) startable() bool {
	return !s.stopping && !s.paused && (!s.blocked || s.probes()) && (s.weight < s.weightMax || s.running == 0) && (s.due.len() > 0 || s.sourceStartable())
}

// probes reports whether a task may start although nothing can be committed: one at a time, and only without results
// that the next transaction could carry. Nothing else would show that commits work again. The mutex is held.
func (s *Scheduler) probes() bool { return !s.uncommitted && s.running == 0 && len(s.ready) == 0 }

func (s *Scheduler) sourceStartable() bool { return s.source.len() > 0 && !s.full() }

// wakeWorker signals one waiting worker if there is work and no other worker is signalled. That worker signals the next
// one as soon as it has taken a task. So all work when handlers wait, and only as many as there are processors when they
// do not. Signalling one per task would make them contend for the mutex. The mutex is held.
func (s *Scheduler) wakeWorker() {
	if !s.called && s.waitingWorkers > 0 && s.startable() {
		s.called = true
		s.work.Signal()
	}
}

// Next blocks until a task may run; it returns nil when the scheduler is closed.
func (s *Scheduler) Next() *Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next()
}

// Exchange takes a finished task back and then does Next, with one lock of the mutex for both.
func (s *Scheduler) Exchange(t *Task) *Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(t)
	return s.next()
}

// next is Next with the mutex held.
func (s *Scheduler) next() *Task {
	for {
		for !s.closed && !s.startable() {
			s.waitingWorkers++
			s.work.Wait()
			s.waitingWorkers--
			s.called = false
		}
		if s.closed {
			return nil
		}
		if t := s.start(s.pop()); t != nil {
			s.wakeWorker()
			return t
		}
	}
}

// pop takes the first record from one of the two queues, one of which is not empty.
func (s *Scheduler) pop() Record {
	from := &s.source
	if s.due.len() > 0 && (s.favour || !s.sourceStartable()) {
		from = &s.due
	}
	s.favour = from == &s.source // alternately, so that neither starves the other
	return from.pop()
}

// start starts the task of a record. It returns nil if another task has the key. The mutex is held.
func (s *Scheduler) start(r Record) *Task {
	t := r.task()
	if !t.takeKey() {
		return nil
	}
	s.running++
	s.weight += t.Weight
	return t
}

// stop records that a task is no longer running. The mutex is held.
func (s *Scheduler) stop(t *Task) {
	s.running--
	s.weight -= t.Weight
	if s.running == 0 {
		s.idle.Broadcast()
	}
}

// Block starts only probes while nothing can be committed. uncommitted means that an aborted transaction has left
// results.
func (s *Scheduler) Block(blocked, uncommitted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked, s.uncommitted = blocked, uncommitted
	s.wakeWorker()
}

// Pause starts no task while on is true.
func (s *Scheduler) Pause(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = on
	if !on {
		s.wakeWorker()
		s.cfg.Ripe() // ends the wait of a poll, which may accept records again
	}
}

// PutBack makes a task whose attempt does not count runnable again, before all others. It keeps its key, so order holds.
func (s *Scheduler) PutBack(t *Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop(t)
	if t.Partition.gone {
		return
	}
	s.probed(t, t.Down)
	s.queueOf(t.Partition).insert(0, t.queued())
	s.wakeWorker()
}

// Drop removes the tasks of revoked partitions, and returns the finished ones. All partitions of one number go together.
// Running tasks end through Late.
func (s *Scheduler) Drop(gone []*Partition) (finished []*Task) {
	if len(gone) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range gone {
		p.gone = true
		p.cancel()
		if p.Tier == Source { // losing a tier partition alone ends the session, and keys must keep their order until then
			clear(p.keys)
		}
	}
	dropped := func(t *Task) bool { return t.Partition.gone }
	of := func(r Record) bool { return r.Partition.gone }
	s.source.drop(of)
	s.due.drop(of)
	for _, t := range s.ready {
		if dropped(t) {
			finished = append(finished, t)
		}
	}
	s.ready = slices.DeleteFunc(s.ready, dropped)
	s.waiting = slices.DeleteFunc(s.waiting, dropped)
	heap.Init(&s.waiting)
	s.dropDeferred(dropped)
	s.arm(s.cfg.Now()) // a probe may be gone
	s.wakeWorker()
	return finished
}

// Drain lets running tasks finish and starts no more. It returns when none runs.
func (s *Scheduler) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for s.running > 0 {
		s.idle.Wait()
	}
}

// Close ends the workers and returns the finished tasks.
func (s *Scheduler) Close() []*Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.timer.Stop()
	s.flush.Stop()
	s.work.Broadcast()
	return s.ready
}
