package attempt

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Some handlers make several outputs of one record, and one part may fail while the others do not. The record stays the
// engine's unit: it has one position, one place in the order of its key and at most one continuation. Parts that failed
// permanently go to the DLQ one by one. The other failed parts wait as one record, with the original bytes and a header
// that lists the remaining parts (docs/decisions/0010).

// Bounds of what one attempt at one record puts into the DLQ part by part. A record beyond them is one dead letter.
const (
	maxDeadParts     = 1000
	maxDeadPartBytes = 16 << 20 // of values and headers
)

// verdict is the outcome of the failed parts.
type verdict struct {
	dead  []deadPart
	open  []int                   // parts that wait
	last  *retrytopics.FailedPart // of those, the one that waits longest
	waits policy.Decision
}

// deadPart is a part that becomes a dead letter of its own.
type deadPart struct {
	event *retrytopics.Event
	value []byte // of the dead letter; nil until unfitParts has read it
}

// judgeParts decides about each failed part. Without a tier that accepts the record, none can wait.
func (a *Shared) judgeParts(event *retrytopics.Event, failed []retrytopics.FailedPart, placeable bool) (v verdict) {
	for i := range failed {
		p := &failed[i]
		failure := a.cfg.Retries.Classify(p.Err)
		d := policy.Decide(a.cfg.Retries.Policies(), a.cfg.Retries.Tiers, tried(event.Record), failure, event.At, rand.Float64)
		if d.Outcome == policy.OutcomeRetried && !placeable {
			d = policy.Decision{Outcome: policy.OutcomeDeadLettered, Reason: policy.ReasonFitsNoTier}
		}
		if d.Outcome == policy.OutcomeDeadLettered {
			v.dead = append(v.dead, deadPart{event: a.deadPart(event, p, failure, d)})
			continue
		}
		v.open = append(v.open, p.Part.Index)
		if v.last == nil || d.Due.After(v.waits.Due) {
			v.last, v.waits = p, d
		}
	}
	return v
}

// judgeFitting is judgeParts after checking whether a tier accepts the record.
func (a *Shared) judgeFitting(t *Task, event *retrytopics.Event, failed []retrytopics.FailedPart) verdict {
	v := a.judgeParts(event, failed, true)
	if v.last != nil && a.orDeadLetter(t, v.waits).Outcome == policy.OutcomeDeadLettered {
		v = a.judgeParts(event, failed, false)
	}
	return v
}

// FailsWhole is Record.FailsWhole.
func (t *Task) FailsWhole(failed []retrytopics.FailedPart) bool {
	v := t.by.judgeFitting(t, &retrytopics.Event{Record: &t.Record, At: t.by.Now()}, failed)
	return t.by.unfitParts(v.dead, t, failed) != ""
}

// decideParts decides about the failed parts, and from that about the record.
func (a *Shared) decideParts(t *Task, event *retrytopics.Event, result *retrytopics.Result) {
	v := a.judgeFitting(t, event, result.Failed)
	if why := a.unfitParts(v.dead, t, result.Failed); why != "" {
		failWhole(event, result, why, v.dead)
		return
	}
	t.dead = v.dead
	for _, dead := range v.dead {
		event.Dead = append(event.Dead, dead.event)
	}
	event.Parts = retrytopics.PartCounts{
		Delivered: len(result.Outputs), Filtered: result.Parts - len(result.Outputs) - len(result.Failed),
		DeadLettered: len(v.dead), Waiting: len(v.open),
	}
	remaining := ended(event.Record, event.Parts, result.Of)
	if v.last == nil {
		event.Decision, event.Note = endOf(remaining)
		return
	}
	remaining.Open = v.open
	failure := a.cfg.Retries.Classify(v.last.Err)
	if len(v.open) > 1 {
		failure.Err = fmt.Errorf("%d of %d parts failed transiently; part %s: %w", len(v.open), result.Of, v.last.Part, v.last.Err)
	}
	event.Failure, event.Decision, t.remaining = &failure, v.waits, remaining
}

// deadPart returns the event of a part that becomes a dead letter of its own.
func (a *Shared) deadPart(event *retrytopics.Event, p *retrytopics.FailedPart, f classify.Failure, d policy.Decision) *retrytopics.Event {
	r := event.Record
	id := merged(&p.Identity, &retrytopics.Identity{Marks: event.Identity.Marks})
	return &retrytopics.Event{
		Record: r, Identity: id, Decision: d, Failure: &f, Destination: a.cfg.DLQ, Part: p.Part,
		DeadLetterID: p.Part.DeadLetterID(wholeDeadLetterID(r)), At: event.At, Lateness: event.Lateness, Took: event.Took,
	}
}

// unfitParts stores the values of dead parts, and returns why they cannot be dead letters of their own, or "".
func (a *Shared) unfitParts(dead []deadPart, t *Task, failed []retrytopics.FailedPart) string {
	if len(dead) > maxDeadParts {
		return fmt.Sprintf("more than the %d for which one attempt writes separate dead letters", maxDeadParts)
	}
	bytes := 0
	for i := range dead {
		d := &dead[i]
		at := slices.IndexFunc(failed, func(p retrytopics.FailedPart) bool { return p.Part == d.event.Part })
		d.value = failed[at].Value()
		r := &kgo.Record{Key: t.Raw.Key, Value: d.value, Headers: t.Record.Headers}
		size := recordbatch.Bytes(r)
		if bytes += size + header.MaxBytes; bytes > maxDeadPartBytes {
			return fmt.Sprintf("and separate dead letters of them would need more than %d bytes", maxDeadPartBytes)
		}
		if !fit.Kept(a.Limits.Load(), a.cfg.DLQ, r, size) {
			return "and the topic " + a.cfg.DLQ + " does not accept each of them"
		}
	}
	return ""
}

// failWhole makes the record one dead letter: this attempt delivers nothing of it.
func failWhole(event *retrytopics.Event, result *retrytopics.Result, why string, dead []deadPart) {
	first := dead[0].event
	failure := *first.Failure
	failure.Err = fmt.Errorf("%d of %d parts failed, %s; part %s: %w", len(dead), result.Of, why, first.Part, first.Failure.Err)
	event.Failure = &failure
	event.Decision = policy.Decision{Outcome: policy.OutcomeDeadLettered, Reason: policy.ReasonManyParts}
	result.Outputs = nil
}

// ended adds an attempt's outcomes to those of the record's parts before it.
func ended(r *retrytopics.Record, now retrytopics.PartCounts, of int) *header.Remaining {
	remaining := &header.Remaining{Of: of, Delivered: now.Delivered, Dead: now.DeadLettered}
	if before := r.Control.Remaining; before != nil {
		remaining.Delivered += before.Delivered
		remaining.Dead += before.Dead
	}
	return remaining
}

// endOf returns the decision about a record without remaining parts, and a note for people.
func endOf(r *header.Remaining) (policy.Decision, string) {
	d := policy.Decision{Outcome: policy.OutcomeDelivered, Reason: policy.ReasonHandled}
	note := ""
	if r.Dead > 0 {
		d.Reason = policy.ReasonPartialFailure
		note = fmt.Sprintf("%d of %d parts are delivered, %d are dead letters of their own", r.Delivered, r.Of, r.Dead)
	}
	if r.Delivered == 0 { // nothing took effect
		d.Outcome = policy.OutcomeSkipped
	}
	return d, note
}

// endParts decides about a record of which no part failed in this attempt.
func endParts(event *retrytopics.Event, result *retrytopics.Result) {
	remaining := event.Record.Control.Remaining
	if o := result.Close; o == policy.OutcomeDuplicate || o == policy.OutcomeSuperseded {
		event.Parts.Overtaken = remaining.Parts()
		return
	}
	if result.Parts == 0 {
		return
	}
	delivered := len(result.Outputs)
	event.Parts = retrytopics.PartCounts{Delivered: delivered, Filtered: result.Parts - delivered}
	if remaining == nil {
		return
	}
	event.Decision, event.Note = endOf(ended(event.Record, event.Parts, remaining.Of))
}

// partRecords returns what a record with failed parts produces: first the waiting record, then the dead letters of its
// parts, then the outputs of the others.
func (a *Shared) partRecords(t *Task, event *retrytopics.Event, own *header.Buffer) []*kgo.Record {
	var records []*kgo.Record
	if event.Decision.Outcome == policy.OutcomeRetried {
		control := a.failed(t, event)
		control.Due, control.Remaining = event.Decision.Due, t.remaining
		records = append(records, keep(t, a.cfg.Retries.Tiers[event.Decision.Tier].Topic, control, own))
	}
	for _, dead := range t.dead {
		control := a.failed(t, dead.event)
		control.DeadLetterID, control.ReplayID, control.ReplayCount = dead.event.DeadLetterID, "", 0
		control.Part, control.PartVersion, control.Remaining = dead.event.Part, t.Result.Version, nil
		records = append(records, &kgo.Record{
			Topic: a.cfg.DLQ, Partition: t.Raw.Partition, Key: t.Raw.Key, Value: dead.value, Headers: own.Append(t.Record.Headers, &control),
		})
	}
	return records
}

// wholeDeadLetterID returns the ID of the whole record's dead letter, whether or not there is one.
func wholeDeadLetterID(r *retrytopics.Record) string {
	return cmp.Or(r.Control.DeadLetterID, DeadLetterID(r))
}

// deadIndexes returns the parts that became dead letters in this attempt.
func deadIndexes(event *retrytopics.Event) (indexes []int) {
	for _, dead := range event.Dead {
		indexes = append(indexes, dead.Part.Index)
	}
	return indexes
}

// partial is true if only some parts of the record were delivered. A partial event is never used for deduplication.
func partial(event *retrytopics.Event) bool {
	remaining := event.Record.Control.Remaining
	return event.Decision.Outcome == policy.OutcomeRetried || len(event.Dead) > 0 || remaining != nil && remaining.Dead > 0
}

// contentOf returns the content by which an event is remembered.
func contentOf(event *retrytopics.Event, before *memory.Past) (content [8]byte, ok bool) {
	if !partial(event) {
		return before.ContentOf(event.Identity.ContentHash)
	}
	return idempotency.ContentOf(idempotency.Of([]byte("parts of"), []byte(event.Identity.ContentHash)).String())
}

// took reports whether part of the record has taken effect, in this attempt or an earlier one.
func took(event *retrytopics.Event) bool {
	o := event.Decision.Outcome
	return o == policy.OutcomeDelivered || o == policy.OutcomeRetried && event.Parts.Delivered > 0
}
