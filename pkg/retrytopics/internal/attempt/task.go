package attempt

import (
	"hash/maphash"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Task is one accepted record on its way through the scheduler. When it is finished, the session's goroutine reads it
// with a cold cache; the fields that it needs come first.
type Task struct {
	schedule.Task

	by    *Shared
	State *State
	Done
	Raw         *kgo.Record
	Record      retrytopics.Record
	Refused     error           // why the record cannot be attempted: a malformed header, or an output that the broker refused
	Pointer     *header.Pointer // of a record whose value was not kept
	PointerOnly bool            // the broker refused the record in a topic that should keep it: only a pointer can be kept
	Answer      *Answer         // the handler's answer in a session that has ended
}

// Done is the outcome of an attempt.
type Done struct {
	Outputs []*kgo.Record // what its transaction produces, with event and change
	Change  memory.Change // of its key, in the memory
	Handled bool          // the handler has returned result, or an error that is in event
	Dated   bool          // the handler sets the timestamps of its outputs
	Result  retrytopics.Result
	Event   retrytopics.Event // until the handler has returned, At is the start of the attempt

	dead      []deadPart        // parts of the record that this attempt made dead letters; event.Dead has their events
	remaining *header.Remaining // the parts of the record that wait; nil if it does not wait in parts
}

// State is what attempts use of the state of a partition number: the memory of its keys and the generation of the
// source topic. It is constant once the state is open; the memory guards itself.
type State struct {
	Memory     *memory.Partition
	Generation int
}

// Place is where a task's record was read.
type Place struct {
	Partition *schedule.Partition
	Tier      policy.Tier // zero for the source
	State     *State
}

// Fill fills an empty task with a record that was accepted at now. It trusts control headers only where they are
// allowed: a proven replay on the source topic, everything in a tier. The worker computes the ledger's hash of the
// key.
func (a *Shared) Fill(t *Task, from Place, raw *kgo.Record, index int64, now time.Time) {
	t.Task = schedule.Task{
		Partition: from.Partition, Index: index, Offset: raw.Offset, Weight: Size(raw), Keyed: raw.Key != nil, KeyHash: maphash.Bytes(a.seed, raw.Key),
	}
	t.by, t.State, t.Raw = a, from.State, raw
	at := header.Position{Topic: raw.Topic, Partition: raw.Partition, Offset: raw.Offset}
	r := &t.Record
	r.Position, r.Source, r.Key, r.Value, r.Timestamp, r.Attempt = at, at, raw.Key, raw.Value, raw.Timestamp, 1
	r.Headers = header.ProducerHeaders(raw.Headers)
	r.Context = t
	if !t.fromTier() && !header.AnyControl(raw.Headers) {
		r.Control = &a.blank // of most records; an allocation for each would cost more than everything else in a task
		return
	}
	control, err := header.ParseControl(raw.Headers)
	if !t.fromTier() {
		var doubt *retrytopics.DoubtError
		if control, doubt = retrytopics.Believed(control, raw, from.State.Generation, a.cfg.Origin.Proven); doubt != nil {
			a.Doubts.note(a.cfg.Logger, at, doubt, time.Now())
		}
	} else if err == nil {
		err = waits(control)
	}
	if err != nil {
		t.Refused = err
	}
	r.Control, t.Due = &control, control.Due
	if control.HasSource {
		r.Source = control.Source
	}
	if !control.SourceTimestamp.IsZero() {
		r.Timestamp = control.SourceTimestamp
	}
	if !t.fromTier() || err != nil {
		return
	}
	r.Attempt = control.Attempt + 1
	t.Retried = r.Attempt > 1
	t.Wake = policy.Wake(a.cfg.Retries.Policies(), from.Tier, control.Due, now)
}

// fromTier reports whether the record was read from a tier.
func (t *Task) fromTier() bool { return t.Partition.Tier != schedule.Source }

// number sets the record's place among the waiting ones of its key.
func number(r *retrytopics.Record, sequence int64) {
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

// generation returns the generation of the source topic in which the task's record first appeared. A header cannot claim
// a later one than the current.
func (t *Task) generation() int {
	if c := t.Record.Control; c.HasSource {
		return min(c.Generation, t.State.Generation)
	}
	return t.State.Generation
}

// versionPosition returns the offset that orders the task's event: that of its first appearance, with the generation of
// the topic at that time.
func (t *Task) versionPosition() int64 {
	return header.VersionPosition(t.generation(), t.Record.Source.Offset)
}

// Size returns the approximate size of a record in memory, in bytes.
func Size(r *kgo.Record) int {
	n := len(r.Key) + len(r.Value) + 200
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value) + 48
	}
	return n
}

// OutageOf returns the outage that an error reports, for the scheduler.
func OutageOf(e *retrytopics.UnavailableError) schedule.Outage {
	return schedule.Outage{Dependency: e.Dependency, RetryAt: e.RetryAt, Asked: e.Asked}
}
