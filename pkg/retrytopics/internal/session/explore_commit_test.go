//go:build !race

package session

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/attempt"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// commit commits what has finished, as Session.commit does with a broker.
func (x *explorer) commit(st *state) {
	s, w := st.s, st.w
	staged := s.stage()
	memories, err := staged.Memories(s.in)
	x.check(err)
	written := map[int]bool{}
	for _, t := range staged.Tasks {
		if partition := x.account(w, t); partition > 0 {
			r := *t.Outputs[0]
			r.Offset = int64(len(w.logs[partition]))
			w.logs[partition], written[partition] = append(w.logs[partition], &r), true
			t.Outputs[0] = &r // the client sets the offset as well
		}
	}
	for partition := range written {
		if !x.plan.markers {
			break
		}
		w.logs[partition] = append(w.logs[partition], nil)
	}
	for i := range w.commits {
		l := s.partitions[x.partitionOf(i)]
		if m, moves := staged.Marks[l]; moves {
			w.commits[i] = commit{m.Offset, l.CommitPoint(m).Metadata}
		}
	}
	for _, r := range memories {
		x.remember(w, r)
	}
	s.afterCommit(staged)
	x.committed(st)
}

// remember stores a record of the state topic or the ledger in the world.
func (x *explorer) remember(w *world, r *kgo.Record) {
	switch {
	case r.Topic == "in.ledger":
		w.ledger = append(w.ledger, r.Value)
		changes, err := idempotency.ReadChanges(r.Value)
		x.check(err)
		for _, c := range changes {
			w.applied[slices.Index(x.keys, c.Key)] = c.Applied
		}
	case r.Value == nil:
		delete(w.states, string(r.Key))
	default:
		w.states[string(r.Key)] = r.Value
	}
}

// account checks the outcome of a committed attempt, and returns the partition in which its record waits; 0 if it is
// finished.
func (x *explorer) account(w *world, t *partition.Task) (partition int) {
	i, d := int(t.Record.Source.Offset), t.Event.Decision
	if w.fates[i] != "" {
		x.breaks("event %d is %s, and was %s before", i, d.Outcome, w.fates[i])
	}
	topics := make([]string, len(t.Outputs))
	for n, out := range t.Outputs {
		topics[n] = out.Topic
	}
	want := []string{}
	switch d.Outcome {
	case policy.OutcomeRetried, policy.OutcomeParked:
		partition = 1 + slices.IndexFunc(x.plan.tiers, func(t policy.Tier) bool { return slices.Contains(topics, t.Topic) })
		if partition == 0 || len(topics) != 1 {
			x.breaks("event %d waits, and is written to %v", i, topics)
			return 0
		}
		if d.Outcome == policy.OutcomeRetried {
			w.tries[i]++
			x.delayed(i, t)
		}
		return partition
	case policy.OutcomeDelivered:
		want = []string{"out"}
	case policy.OutcomeDeadLettered:
		want = []string{"in.dlq"}
	case policy.OutcomeDuplicate, policy.OutcomeSuperseded, policy.OutcomeFiltered, policy.OutcomeSkipped:
	}
	if !slices.Equal(topics, want) {
		x.breaks("event %d is %s, and is written to %v", i, d.Outcome, topics)
	}
	w.fates[i] = d.Outcome
	x.ordered(w, i)
	return 0
}

// delayed checks the due time of a record against the delay of its failure.
func (x *explorer) delayed(i int, t *partition.Task) {
	wait := x.plan.tiers[0].Delay
	if t.Event.Failure.RetryAfter > 0 {
		wait = t.Event.Failure.RetryAfter
	}
	control, err := header.ParseControl(t.Outputs[0].Headers)
	if earliest := t.Event.At.Add(wait); err != nil || control.Due.Before(earliest) {
		x.breaks("event %d is due at %v, and not before %v is right (%v)", i, control.Due, earliest, err)
	}
}

// ordered checks the end of an event against the events of its key before it.
func (x *explorer) ordered(w *world, i int) {
	e, outcome := x.history[i], w.fates[i]
	effects := w.effects[e.key]
	x.closed(i, outcome, effects)
	switch x.plan.order.Mode {
	case retrytopics.OrderStrict:
		for j := range i {
			if x.history[j].key == e.key && w.fates[j] == "" {
				x.breaks("event %d is %s before event %d of its key, which waits", i, outcome, j)
			}
		}
		x.held(w, i)
	case retrytopics.OrderLatestWins:
		for _, j := range effects {
			if outcome == policy.OutcomeDelivered && x.newer(j, i) {
				x.breaks("event %d takes effect after event %d of its key, which is newer", i, j)
			}
		}
	case retrytopics.OrderNone:
	}
	repeats := outcome == policy.OutcomeDuplicate && len(effects) > 0 && x.newer(i, effects[len(effects)-1])
	if outcome == policy.OutcomeDelivered || repeats {
		w.effects[e.key] = append(effects, i)
	}
}

// closed checks that an event was closed for a true reason, so that no necessary event is left out.
func (x *explorer) closed(i int, outcome policy.Outcome, effects []int) {
	switch outcome {
	case policy.OutcomeDuplicate:
		if n := len(effects); n == 0 || !x.same(effects[n-1], i) {
			x.breaks("event %d is closed as a duplicate, but equals no earlier event: before it took effect %v", i, effects)
		}
	case policy.OutcomeSuperseded:
		if !slices.ContainsFunc(effects, func(j int) bool { return x.newer(j, i) }) {
			x.breaks("event %d is closed as superseded, and nothing newer took effect: %v", i, effects)
		}
	case policy.OutcomeDelivered:
		if n := len(effects); x.plan.dedupe && n > 0 && x.same(effects[n-1], i) {
			x.breaks("event %d takes effect, and repeats event %d", i, effects[n-1])
		}
	case policy.OutcomeDeadLettered, policy.OutcomeFiltered, policy.OutcomeSkipped, policy.OutcomeParked, policy.OutcomeRetried:
	}
}

// held follows which dead letter blocks a key in strict order.
func (x *explorer) held(w *world, i int) {
	key := x.history[i].key
	switch holder := w.holders[key]; {
	case x.plan.order.OnDeadLetter != retrytopics.OnDeadLetterHoldKey:
	case holder >= 0 && holder != i:
		x.breaks("event %d is %s, and the dead letter of event %d blocks the key", i, w.fates[i], holder)
	case w.fates[i] == policy.OutcomeDeadLettered:
		w.holders[key] = i
	default:
		w.holders[key] = -1
	}
}

// same reports whether two events have the same content.
func (x *explorer) same(i, j int) bool { return x.history[i].content == x.history[j].content }

// newer reports whether an event is newer than another one of its key. A tombstone is newer than all events before it.
func (x *explorer) newer(i, j int) bool {
	a, b := x.history[i], x.history[j]
	if a.version == b.version || a.version == tombstone || b.version == tombstone {
		return i > j
	}
	return a.version > b.version
}

// copier copies a session. Original and copy continue independently.
type copier struct {
	from, to   *Session
	partitions map[*partition.Partition]*partition.Partition
	views      map[*schedule.Partition]*schedule.Partition
	states     map[*partition.State]*partition.State
	tasks      map[*partition.Task]*partition.Task
	changes    map[*memory.Change]*memory.Change
	now        time.Time
	keys       []idempotency.KeyHash
}

func (c *copier) session() *Session {
	s := c.from
	c.partitions, c.views = map[*partition.Partition]*partition.Partition{}, map[*schedule.Partition]*schedule.Partition{}
	c.states, c.tasks, c.changes = map[*partition.State]*partition.State{}, map[*partition.Task]*partition.Task{}, map[*memory.Change]*memory.Change{}
	c.to = &Session{
		in: s.in, Committer: s.Committer, layout: s.layout, base: context.Background(), stopWork: func() {}, partitions: map[partition.ID]*partition.Partition{}, states: map[int32]*partition.State{},
		hasAssignment: s.hasAssignment, refused: maps.Clone(s.refused), suspects: s.suspects, budget: s.budget, partitioner: s.partitioner, lazy: s.lazy, wake: s.wake,
	}
	for p, sh := range s.states {
		c.to.states[p] = c.state(sh)
	}
	for tp, l := range s.partitions {
		c.to.partitions[tp] = c.partition(l)
	}
	c.to.aborted = c.list(s.aborted)
	c.to.Sched = s.Sched.Copy(c.scheduled, func(p *schedule.Partition) *schedule.Partition { return c.views[p] })
	for old, sh := range c.states {
		old.Memory.CopyChanges(sh.Memory, c.change)
	}
	return c.to
}

func (c *copier) state(old *partition.State) *partition.State {
	if sh := c.states[old]; sh != nil {
		return sh
	}
	sh := &partition.State{
		Partition: old.Partition, Restored: old.Restored, Checkpoint: old.Checkpoint, Same: old.Same, Promised: old.Promised,
		State: attempt.State{Memory: old.Memory.Copy(c.keys, c.now), Generation: old.Generation},
	}
	c.states[old] = sh
	return sh
}

func (c *copier) partition(old *partition.Partition) *partition.Partition {
	if l := c.partitions[old]; l != nil {
		return l
	}
	l := *old
	c.partitions[old] = &l
	l.State = c.state(old.State)
	l.Window, l.Stamps, l.Slab = old.Window.Clone(), nil, nil
	l.Sched = schedule.NewPartition(context.Background(), l.Tier, c.to.sibling(&l), func(r schedule.Record) *schedule.Task {
		return &partition.Fill(c.to.in, &partition.Task{}, &l, r.Raw, r.Index, time.Time{}).Task.Task
	})
	c.views[old.Sched] = l.Sched
	l.Sched.Begin(old.Sched, c.scheduled)
	return &l
}

func (c *copier) list(old []*partition.Task) (tasks []*partition.Task) {
	for _, t := range old {
		tasks = append(tasks, c.task(t))
	}
	return tasks
}

func (c *copier) scheduled(old *schedule.Task) *schedule.Task {
	return &c.task(partition.TaskOf(old)).Task.Task
}

func (c *copier) task(old *partition.Task) *partition.Task {
	if t := c.tasks[old]; t != nil {
		return t
	}
	t := *old
	c.tasks[old], c.changes[&old.Change] = &t, &t.Change
	t.From, t.Outputs, t.Record.Context = c.partition(old.From), slices.Clone(old.Outputs), &t.Task
	t.State = &t.From.State.State
	t.Work, t.Partition = &t, t.From.Sched
	if t.Event.Record != nil {
		t.Event.Record = &t.Record
	}
	return &t
}

// change returns the copy of a change whose task may be committed and removed.
func (c *copier) change(old *memory.Change) *memory.Change {
	if n := c.changes[old]; n != nil {
		return n
	}
	n := *old
	c.changes[old] = &n
	return &n
}
