package retrytopics

import (
	"container/heap"
	"slices"
	"sync"
	"time"
)

// scheduler hands tasks to workers: each at its time, one at a time per key, keys concurrently. It does not know what a
// task means; the session does. It drops the tasks of revoked partitions.
type scheduler struct {
	mu                   sync.Mutex
	work                 sync.Cond // signals a runnable task, or closed
	weight               int       // bytes of the records in running tasks
	weightMax            int
	waitingWorkers       int       // workers that wait for work
	called               bool      // one of them is signalled; see wakeWorker
	idle                 sync.Cond // running has become 0
	runnable             queue[fetched]
	due                  queue[fetched] // runnable ones from the tiers: they do not queue behind the source's
	favour               bool           // the next one is taken from due
	waiting              dueHeap
	holds                map[string]*hold // by dependency
	passes               map[string]int64 // by dependency: probes that got through
	ready                []*task          // finished, not yet in a transaction
	readyBytes, readyMax int              // of their outputs
	most                 int              // with so many of them, only tasks from the tiers are started; see pace
	readyAt              time.Time
	running              int
	closed               bool
	stopping             bool // nothing new is started, until the end
	paused               bool // nothing new is started, until the pause ends
	blocked              bool // nothing can be committed, so only probes are started; see probes
	uncommitted          bool // an aborted transaction has left results
	timer                *time.Timer
	now                  func() time.Time // by which tasks wake
	linger               time.Duration
	ahead                int64               // see gate
	makeTask             func(fetched) *task // makes the task of a source record
	onReady              func()              // called once results have waited for linger
	late                 func(*task)         // receives a finished task of a revoked partition
	flush                *time.Timer
}

// newScheduler returns a scheduler for an engine that may hold so many bytes. An eighth of them may be in running tasks
// at once, and a quarter in results that wait for their transaction.
func newScheduler(linger time.Duration, ahead int64, held int, onReady func()) *scheduler {
	s := &scheduler{
		holds: map[string]*hold{}, passes: map[string]int64{}, now: time.Now, linger: linger, ahead: ahead, onReady: onReady, late: func(*task) {}, most: minPace,
		weightMax: held / 8, readyMax: held / 4,
	}
	s.work.L, s.idle.L = &s.mu, &s.mu
	s.timer = time.AfterFunc(time.Hour, s.surface)
	s.flush = time.AfterFunc(time.Hour, onReady)
	return s
}

// add takes records in the order of their partition.
func (s *scheduler) add(records []fetched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, r := range records {
		g := &r.from.gate
		if g.restored != r.restored {
			g.restored = r.restored
			s.startBlocked(g) // before r, which must not overtake it
		}
		switch {
		case r.raw == nil:
			g.pass(r.index)
		case r.task != nil && r.task.wake.After(now):
			heap.Push(&s.waiting, r.task)
		default:
			s.offer(r)
		}
	}
	s.arm(now)
}

// enqueue makes a record runnable. The mutex is held.
func (s *scheduler) enqueue(r fetched) {
	if r.from.tier == sourceTier {
		s.runnable.push(r)
	} else {
		s.due.push(r)
	}
	s.wakeWorker()
}

// startable reports whether a worker may take a task. The mutex is held.
func (s *scheduler) startable() bool {
	return !s.stopping && !s.paused && (!s.blocked || s.probes()) && (s.weight < s.weightMax || s.running == 0) && (s.due.len() > 0 || s.sourceStartable())
}

// probes reports whether a task may start although nothing can be committed: one at a time, and only without results
// that the next transaction could carry. Nothing else would show that commits work again. The mutex is held.
func (s *scheduler) probes() bool { return !s.uncommitted && s.running == 0 && len(s.ready) == 0 }

func (s *scheduler) sourceStartable() bool {
	return s.runnable.len() > 0 && len(s.ready) < s.most && s.readyBytes < s.readyMax
}

// block starts only probes while nothing can be committed. uncommitted means that an aborted transaction has left
// results.
func (s *scheduler) block(blocked, uncommitted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked, s.uncommitted = blocked, uncommitted
	s.wakeWorker()
}

// wakeWorker signals one waiting worker if there is work and no other worker is signalled. That worker signals the next
// one as soon as it has taken a task. So all work when handlers wait, and only as many as there are processors when they
// do not. Signalling one per task would make them contend for the mutex. The mutex is held.
func (s *scheduler) wakeWorker() {
	if !s.called && s.waitingWorkers > 0 && s.startable() {
		s.called = true
		s.work.Signal()
	}
}

// surface enqueues the tasks that have become due.
func (s *scheduler) surface() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for len(s.waiting) > 0 && !s.waiting[0].wake.After(now) {
		s.offer(heap.Pop(&s.waiting).(*task).fetched())
	}
	s.probe(now)
	s.arm(now)
}

// arm sets the timer to the next time at which something may run. The mutex is held.
func (s *scheduler) arm(now time.Time) {
	at, some := s.nextProbe()
	if len(s.waiting) > 0 && (!some || s.waiting[0].wake.Before(at)) {
		at, some = s.waiting[0].wake, true
	}
	if some && !s.closed {
		s.timer.Reset(max(at.Sub(now), 0))
	}
}

// next blocks until a task may run; it returns nil when the scheduler is closed.
func (s *scheduler) next() *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nextRunnable()
}

// exchange takes a finished task back and then does next, with one lock of the mutex for both.
func (s *scheduler) exchange(t *task) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(t)
	return s.nextRunnable()
}

// nextRunnable is next with the mutex held.
func (s *scheduler) nextRunnable() *task {
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
		if t := s.pop(); t.takeKey() {
			s.running++
			s.weight += t.weight
			s.wakeWorker()
			return t
		}
	}
}

// pop takes the first task from one of the two queues, one of which is not empty.
func (s *scheduler) pop() *task {
	from := &s.runnable
	if s.due.len() > 0 && (s.favour || !s.sourceStartable()) {
		from = &s.due
	}
	s.favour = from == &s.runnable // alternately, so that neither starves the other
	r := from.pop()
	if r.task == nil {
		return s.makeTask(r)
	}
	return r.task
}

// takeKey gives a task its key, or lets it wait behind the task that has it. Only running tasks and those held for a
// dependency have a key, so chains stays small, whatever waits in the queues. The scheduler's mutex is held.
func (t *task) takeKey() bool {
	if !t.keyed || t.hasKey {
		return true
	}
	chains := t.from.state.chains
	last := chains[t.keyMark]
	chains[t.keyMark] = t
	if last != nil {
		last.behind = t
	}
	t.hasKey = last == nil
	return t.hasKey
}

// finish takes a finished task back; the next one of its key may run. The mutex is held.
func (s *scheduler) finish(t *task) {
	s.stop(t)
	if t.from.dead || s.closed {
		s.late(t)
		return
	}
	if s.probed(t, t.down); t.down != nil {
		s.arm(s.now())
	}
	s.finished(t)
	s.release(t)
	if len(s.ready) == 0 {
		s.readyAt = time.Now()
		s.flush.Reset(s.linger)
	}
	s.ready = append(s.ready, t)
	for _, out := range t.outputs {
		s.readyBytes += len(out.Value)
	}
	if s.full() {
		s.flush.Reset(0)
	}
}

// full reports whether results should not wait for others. The mutex is held.
func (s *scheduler) full() bool { return len(s.ready) >= s.most || s.readyBytes >= s.readyMax }

// stop records that a task is no longer running. The mutex is held.
func (s *scheduler) stop(t *task) {
	s.running--
	s.weight -= t.weight
	if s.running == 0 {
		s.idle.Broadcast()
	}
}

// release gives the key of a finished task to the one behind it. The mutex is held.
func (s *scheduler) release(t *task) {
	switch {
	case !t.keyed:
	case t.behind == nil:
		delete(t.from.state.chains, t.keyMark)
	default:
		t.behind.hasKey = true
		s.enqueue(t.behind.fetched())
		t.behind = nil
	}
}

// harvest returns all finished tasks, which then belong to the caller.
func (s *scheduler) harvest() []*task {
	s.mu.Lock()
	defer s.mu.Unlock()
	ready := s.ready
	s.ready, s.readyBytes = make([]*task, 0, len(ready)), 0
	s.wakeWorker()
	return ready
}

// readySince returns the time since which finished tasks wait for their transaction; zero if none does.
func (s *scheduler) readySince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready) == 0 {
		return time.Time{}
	}
	return s.readyAt
}

// pace sets how many finished tasks may wait from now on.
func (s *scheduler) pace(most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = most
	s.wakeWorker()
}

// pending reports whether finished tasks have waited for linger or have reached their limit, and whether there are any.
func (s *scheduler) pending() (ripe, some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	some = len(s.ready) > 0
	return some && (s.full() || time.Since(s.readyAt) >= s.linger), some
}

// drop removes the tasks of revoked partitions, and returns the finished ones. All partitions of one number go together.
// Running tasks end through late.
func (s *scheduler) drop(gone []*partition) (finished []*task) {
	if len(gone) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range gone {
		l.dead = true
		l.cancel()
		if l.tier == sourceTier { // losing a tier partition alone ends the session, and keys must keep their order until then
			clear(l.state.chains)
		}
	}
	dead := func(t *task) bool { return t.from.dead }
	of := func(r fetched) bool { return r.from.dead }
	s.runnable.drop(of)
	s.due.drop(of)
	for _, t := range s.ready {
		if dead(t) {
			finished = append(finished, t)
		}
	}
	s.ready = slices.DeleteFunc(s.ready, dead)
	s.waiting = slices.DeleteFunc(s.waiting, dead)
	heap.Init(&s.waiting)
	s.dropHeld(dead)
	s.arm(s.now()) // a probe may be gone
	s.wakeWorker()
	return finished
}

// drain lets running tasks finish and starts no more. It returns when none runs.
func (s *scheduler) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for s.running > 0 {
		s.idle.Wait()
	}
}

// close ends the workers and returns the finished tasks.
func (s *scheduler) close() []*task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.timer.Stop()
	s.flush.Stop()
	s.work.Broadcast()
	return s.ready
}
