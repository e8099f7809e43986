package partition

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/attempt"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Task is a task of package attempt, and the partition from which it was read. The session's goroutine
// needs the fields at its beginning.
type Task struct {
	From *Partition
	attempt.Task
}

// Fill fills an empty task with a record that was accepted at now.
func Fill(in *instance.Instance, t *Task, l *Partition, raw *kgo.Record, index int64, now time.Time) *Task {
	var tier policy.Tier
	if l.Tier != schedule.Source {
		tier = in.Tier(l.Tier)
	}
	t.From = l
	in.Attempts.Fill(&t.Task, attempt.Place{Partition: l.Sched, Tier: tier, State: &l.State.State}, raw, index, now)
	t.Work = t
	return t
}

// slabTasks is how many tasks are allocated together. A waiting task keeps its slab in memory, so it is a few. Tasks
// that are made before a worker takes them do wait, and are allocated one by one.
const slabTasks = 32

// Slot returns an empty task. The scheduler's mutex is held.
func (l *Partition) Slot() *Task {
	if len(l.Slab) == 0 {
		l.Slab = make([]Task, slabTasks)
	}
	t := &l.Slab[0]
	l.Slab = l.Slab[1:]
	return t
}

// TaskOf returns the task that the scheduler carries.
func TaskOf(t *schedule.Task) *Task { return t.Work.(*Task) }

// TasksOf returns the tasks that the scheduler carries.
func TasksOf(all []*schedule.Task) []*Task {
	tasks := make([]*Task, 0, len(all))
	for _, t := range all {
		tasks = append(tasks, TaskOf(t))
	}
	return tasks
}

// Detach copies the bytes of a record that may wait. The client's bytes would keep the broker's whole response in
// memory, megabytes of other partitions' records.
func Detach(r *kgo.Record) {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Value)
	}
	room := make([]byte, 0, n)
	own := func(b []byte) []byte {
		if b == nil {
			return nil // a tombstone's value, the key of a record without one
		}
		at := len(room)
		room = append(room, b...)
		return room[at:len(room):len(room)]
	}
	r.Key, r.Value = own(r.Key), own(r.Value)
	for i := range r.Headers {
		r.Headers[i].Value = own(r.Headers[i].Value)
	}
}
