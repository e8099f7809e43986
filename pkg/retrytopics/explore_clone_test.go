//go:build !race

package retrytopics

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// copier makes a second session that is in the state of a first one. Both go on apart.
type copier struct {
	from, to   *session
	partitions map[*partition]*partition
	shards     map[*partitionState]*partitionState
	tasks      map[*task]*task
	changes    map[*change]*change
	now        time.Time
	keys       []idempotency.KeyHash
	idle       *time.Timer // fires never
}

func (c *copier) session() *session {
	s := c.from
	c.partitions, c.shards, c.tasks, c.changes = map[*partition]*partition{}, map[*partitionState]*partitionState{}, map[*task]*task{}, map[*change]*change{}
	c.to = &session{
		e: s.e, committer: s.committer, layout: s.layout, base: context.Background(), stopWork: func() {}, partitions: map[topicPartition]*partition{}, states: map[int32]*partitionState{},
		told: s.told, refused: maps.Clone(s.refused), suspects: s.suspects, budget: s.budget, partitioner: s.partitioner, lazy: s.lazy, wake: s.wake,
	}
	for p, sh := range s.states {
		c.to.states[p] = c.state(sh)
	}
	for tp, l := range s.partitions {
		c.to.partitions[tp] = c.partition(l)
	}
	c.to.aborted = c.list(s.aborted)
	c.to.sched = c.scheduler(s.sched)
	for old, sh := range c.shards {
		for _, change := range old.noted {
			sh.noted = append(sh.noted, c.change(change))
		}
	}
	return c.to
}

func (c *copier) state(old *partitionState) *partitionState {
	if sh := c.shards[old]; sh != nil {
		return sh
	}
	sh := &partitionState{
		partition: old.partition, restored: old.restored, checkpoint: old.checkpoint, generation: old.generation, same: old.same, promised: old.promised,
		chains: map[uint64]*task{}, mu: &sync.Mutex{}, keys: maps.Clone(old.keys), base: maps.Clone(old.base), over: old.over,
		drops: old.drops,
	}
	if old.latest != nil {
		sh.latest, sh.pushed.forgotten = newLatestVersions(c.from.e.cfg.Ordering.Versions.MaxKeys), old.pushed.forgotten
		for _, k := range c.keys {
			if known, kept := old.latest.of(k); kept {
				sh.latest.note(k, known)
			}
		}
	}
	if old.ledger != nil {
		sh.ledger = idempotency.NewLedger(ledgerWindow, ledgerKeys)
		for _, k := range c.keys {
			if a, known := old.ledger.Last(k, c.now); known {
				sh.ledger.Note(k, a)
			}
		}
	}
	c.shards[old] = sh
	return sh
}

func (c *copier) partition(old *partition) *partition {
	if l := c.partitions[old]; l != nil {
		return l
	}
	l := *old
	c.partitions[old] = &l
	l.state = c.state(old.state)
	l.window, l.stamps, l.slab = old.window.Clone(), nil, nil
	l.gate.blocked = c.queue(&old.gate.blocked)
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return &l
}

func (c *copier) scheduler(old *scheduler) *scheduler {
	s := &scheduler{
		holds: map[string]*hold{}, passes: map[string]int64{}, now: old.now, linger: old.linger, ahead: old.ahead, onReady: old.onReady,
		most: old.most, weightMax: old.weightMax, readyMax: old.readyMax, running: old.running, weight: old.weight, readyBytes: old.readyBytes,
		runnable: c.queue(&old.runnable), due: c.queue(&old.due), waiting: c.list(old.waiting), ready: c.list(old.ready),
	}
	prepare(s, c.to.e, c.idle)
	return s
}

// prepare gives a scheduler what a session gives it, but for clocks of its own.
func prepare(s *scheduler, e *Engine, idle *time.Timer) {
	s.work.L, s.idle.L = &s.mu, &s.mu
	s.timer, s.flush = idle, idle
	s.makeTask = func(r fetched) *task { return e.newTask(&task{}, r, time.Time{}) }
	s.late = func(t *task) { e.results.keep(t) }
}

func (c *copier) queue(old *queue[fetched]) (q queue[fetched]) {
	for _, r := range old.items() {
		q.all = append(q.all, fetched{task: c.task(r.task), from: c.partition(r.from), raw: r.raw, index: r.index, restored: r.restored})
	}
	return q
}

func (c *copier) list(old []*task) (tasks []*task) {
	for _, t := range old {
		tasks = append(tasks, c.task(t))
	}
	return tasks
}

func (c *copier) task(old *task) *task {
	if old == nil {
		return nil
	}
	if t := c.tasks[old]; t != nil {
		return t
	}
	t := *old
	c.tasks[old], c.changes[&old.change] = &t, &t.change
	t.from, t.outputs, t.record.task = c.partition(old.from), slices.Clone(old.outputs), &t
	if t.event.Record != nil {
		t.event.Record = &t.record
	}
	return &t
}

// change gives the copy of a change, of which the task may be committed and gone.
func (c *copier) change(old *change) *change {
	if n := c.changes[old]; n != nil {
		return n
	}
	n := *old
	c.changes[old] = &n
	return &n
}
