package retrytopics

import (
	"hash/maphash"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// task is one accepted record on its way through the scheduler. When it is finished, the session's goroutine reads it
// with a cold cache; the fields that it needs come first.
type task struct {
	schedule.Task

	from *partition
	done
	raw         *kgo.Record
	record      Record
	refused     error           // why the record cannot be attempted: a malformed header, or an output that the broker refused
	pointer     *header.Pointer // of a record whose value was not kept
	pointerOnly bool            // the broker refused the record in a topic that should keep it: only a pointer can be kept
	made        *made           // the handler's answer in a session that has ended
}

// done is what an attempt came to.
type done struct {
	outputs []*kgo.Record // what its transaction produces, with event and change
	change  memory.Change // of its key, in the memory
	handled bool          // the handler has returned result, or an error that is in event
	dated   bool          // the handler sets the timestamps of its outputs
	result  Result
	event   Event // until the handler has returned, At is the start of the attempt
}

// slabTasks is how many tasks are allocated together. A waiting task keeps its slab in memory, so it is a few. Tasks
// that are made before a worker takes them do wait, and are allocated one by one.
const slabTasks = 32

// slot returns an empty task. The scheduler's mutex is held.
func (l *partition) slot() *task {
	if len(l.slab) == 0 {
		l.slab = make([]task, slabTasks)
	}
	t := &l.slab[0]
	l.slab = l.slab[1:]
	return t
}

// taskOf returns the task that the scheduler carries.
func taskOf(t *schedule.Task) *task { return t.Work.(*task) }

func tasksOf(all []*schedule.Task) []*task {
	tasks := make([]*task, 0, len(all))
	for _, t := range all {
		tasks = append(tasks, taskOf(t))
	}
	return tasks
}

// newTask fills an empty task with a record that was accepted at now. It believes control headers only where they may
// stand: a proven replay on the source topic, everything in a tier. The worker computes the ledger's hash of the key.
func (e *Engine) newTask(t *task, l *partition, raw *kgo.Record, index int64, now time.Time) *task {
	t.Task = schedule.Task{
		Partition: l.sched, Work: t, Index: index, Offset: raw.Offset, Weight: size(raw), Keyed: raw.Key != nil, KeyHash: maphash.Bytes(e.seed, raw.Key),
	}
	t.from, t.raw = l, raw
	at := header.Position{Topic: raw.Topic, Partition: raw.Partition, Offset: raw.Offset}
	r := &t.record
	r.Position, r.Source, r.Key, r.Value, r.Timestamp, r.Attempt = at, at, raw.Key, raw.Value, raw.Timestamp, 1
	r.Headers = header.ProducerHeaders(raw.Headers)
	r.engine, r.task = e, t
	if l.tier == sourceTier && !header.AnyControl(raw.Headers) {
		r.Control = &e.blank // of most records; an allocation for each would cost more than everything else in a task
		return t
	}
	control, err := header.ParseControl(raw.Headers)
	if l.tier == sourceTier {
		var doubt *DoubtError
		if control, doubt = fromReplay(control, raw, l.state.generation, e.cfg.Origin.Proven); doubt != nil {
			e.doubts.note(e.cfg.Logger, at, doubt, time.Now())
		}
	} else if err == nil {
		err = waits(control)
	}
	if err != nil {
		t.refused = err
	}
	r.Control, t.Due = &control, control.Due
	if control.HasSource {
		r.Source = control.Source
	}
	if !control.SourceTimestamp.IsZero() {
		r.Timestamp = control.SourceTimestamp
	}
	if l.tier == sourceTier || err != nil {
		return t
	}
	r.Attempt = control.Attempt + 1
	t.Retried = r.Attempt > 1
	t.Wake = policy.Wake(e.cfg.Retries.policies(), e.tier(l.tier), control.Due, now)
	return t
}

// number sets the record's place among the waiting ones of its key.
func (r *Record) number(sequence int64) {
	if r.Control.Sequence != sequence {
		own := *r.Control
		own.Sequence = sequence
		r.Control = &own
	}
}

// waits returns an error if the headers of a tier's record are incomplete. A record that waits for its predecessor has a
// sequence number, and may not have been attempted yet.
func waits(c header.Control) error {
	switch {
	case c.Due.IsZero():
		return header.Malformed(header.KeyDue, "", "it is missing")
	case c.Attempt < 1 && c.Sequence < 1:
		return header.Malformed(header.KeyAttempt, "", "it is missing")
	case !c.HasSource:
		return header.Malformed(header.KeySource, "", "it is missing")
	case c.ForceVersion && c.ReplaySource.Topic == "":
		return header.Malformed(header.KeyReplaySource, "", "it is missing")
	}
	return nil
}

// A source topic that is deleted and re-created uses its offsets again. Where source offsets order events, those of a
// later topic must be greater: a generation counts how often the topic was adopted (Engine.Adopt), and ranks above the
// offset. Records of the first generation have no header for it.

// versionPosition returns the offset that orders the task's event: that of its first appearance, with the generation of
// the topic at that time.
func (t *task) versionPosition() int64 {
	return header.VersionPosition(t.record.generation(), t.record.Source.Offset)
}
