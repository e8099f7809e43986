package retrytopics

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// heldTask is a task and the partition from which it was read. The session's goroutine needs the fields at its beginning.
type heldTask struct {
	from *partition
	task
}

// fill fills an empty task with a record that was accepted at now.
func fill(in *instance, t *heldTask, l *partition, raw *kgo.Record, index int64, now time.Time) *heldTask {
	var tier policy.Tier
	if l.tier != sourceTier {
		tier = in.tier(l.tier)
	}
	t.from = l
	in.attempts.fill(&t.task, place{partition: l.sched, tier: tier, state: &l.state.keyState}, raw, index, now)
	t.Work = t
	return t
}

// slabTasks is how many tasks are allocated together. A waiting task keeps its slab in memory, so it is a few. Tasks
// that are made before a worker takes them do wait, and are allocated one by one.
const slabTasks = 32

// slot returns an empty task. The scheduler's mutex is held.
func (l *partition) slot() *heldTask {
	if len(l.slab) == 0 {
		l.slab = make([]heldTask, slabTasks)
	}
	t := &l.slab[0]
	l.slab = l.slab[1:]
	return t
}

// taskOf returns the task that the scheduler carries.
func taskOf(t *schedule.Task) *heldTask { return t.Work.(*heldTask) }

func tasksOf(all []*schedule.Task) []*heldTask {
	tasks := make([]*heldTask, 0, len(all))
	for _, t := range all {
		tasks = append(tasks, taskOf(t))
	}
	return tasks
}
