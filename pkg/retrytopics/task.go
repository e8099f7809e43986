package retrytopics

import (
	"hash/maphash"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/twmb/franz-go/pkg/kgo"
)

// fetched is a record as it waits for a worker. Thousands do, and a task is many times as large: that of a record of the
// source is made when a worker takes it.
type fetched struct {
	task     *task // nil until it is needed
	from     *partition
	raw      *kgo.Record // nil when a former owner has finished it
	index    int64       // among the records taken by the partition, from 0
	restored int64       // runs of a former owner that the partition had not taken again when it took this
}

func (t *task) fetched() fetched { return fetched{task: t, from: t.from, raw: t.raw, index: t.index} }

// task is one taken record on its way through the scheduler. The session's goroutine meets it cold, when it is finished:
// what it needs then stands first.
type task struct {
	from    *partition
	offset  int64         // of the record
	weight  int           // of the record in memory, see size
	outputs []*kgo.Record // what its transaction produces, with event and change
	change  change

	index       int64  // see taken
	keyMark     uint64 // hash of the key: two keys that share one only wait for each other
	behind      *task  // waits for this one, which has the same key
	keyed       bool
	hasKey      bool // no other one of its key runs; see takeKey
	raw         *kgo.Record
	record      Record
	wake        time.Time         // not before; zero: at once
	dated       bool              // the handler stamps its outputs itself
	refused     error             // the record cannot be attempted at all: a malformed header, or an output the broker refused
	pointer     *header.Pointer   // of a record whose value was not kept
	pointerOnly bool              // the broker refused the record in a topic that should keep it: only a pointer to it can be kept
	waits       *since            // nil unless it has met an UnavailableError
	down        *UnavailableError // of an attempt that counts although it met one
	made        *made             // what the handler said of the record before, in a session that ended
	handled     bool              // the handler has returned result, or an error that is in event
	result      Result
	event       Event // until the handler has returned, At is the start of the attempt
}

// slabTasks is how many tasks are made at once. A task that waits keeps its slab in memory, so it is a few; those that are made
// before a worker takes them do wait, so they are made one by one.
const slabTasks = 32

// slot gives an empty task. The scheduler's mutex is held.
func (l *partition) slot() *task {
	if len(l.slab) == 0 {
		l.slab = make([]task, slabTasks)
	}
	t := &l.slab[0]
	l.slab = l.slab[1:]
	return t
}

// taskOf makes an empty task one of a record. The ledger's hash of its key is the worker's to make.
func taskOf(t *task, r fetched, seed maphash.Seed) *task {
	raw := r.raw
	t.from, t.index = r.from, r.index
	t.offset, t.weight, t.raw, t.keyed = raw.Offset, size(raw), raw, raw.Key != nil
	t.keyMark = maphash.Bytes(seed, raw.Key)
	return t
}

// newTask turns a record that was taken at now into a task, which is empty before. What its control headers say is kept only where it may say it: on
// the source topic they carry a replay, in a tier the whole state.
func (e *Engine) newTask(t *task, from fetched, now time.Time) *task {
	l, raw := from.from, from.raw
	at := header.Position{Topic: raw.Topic, Partition: raw.Partition, Offset: raw.Offset}
	taskOf(t, from, e.seed)
	r := &t.record
	r.Position, r.Source, r.Key, r.Value, r.Timestamp, r.Attempt = at, at, raw.Key, raw.Value, raw.Timestamp, 1
	r.Headers = header.ProducerHeaders(raw.Headers)
	r.engine, r.task = e, t
	if l.tier == sourceTier && !header.AnyControl(raw.Headers) {
		r.Control = &e.blank // of most records; memory of its own for each would cost more than all else a task needs
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
	r.Control = &control
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
	t.wake = policy.Wake(e.cfg.Retries.policies(), e.tier(l.tier), control.Due, now)
	return t
}

// number gives the record its place among the waiting ones of its key.
func (r *Record) number(sequence int64) {
	if r.Control.Sequence != sequence {
		own := *r.Control
		own.Sequence = sequence
		r.Control = &own
	}
}

// waits says whether the headers of a record in a tier are whole. A record that waits for its predecessor has a sequence
// number and may not have been attempted yet.
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

// A source topic that is deleted and re-created gives its offsets again. Where source offsets order events, those of a later
// topic must be the greater ones: a generation counts how often the topic was adopted (Engine.Adopt), and stands above the
// offset. Records of the first generation carry no header for it.

// versionPosition gives the offset by which the task's event is ordered: by its first appearance, in the topic of that time.
func (t *task) versionPosition() int64 {
	return header.VersionPosition(t.record.generation(), t.record.Source.Offset)
}
