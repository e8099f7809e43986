package attempt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// records returns what the task's transaction produces for the decision, and the topic that holds the record or its output
// afterwards ("" if it was closed without output).
func (a *Shared) records(t *Task, event *retrytopics.Event, result *retrytopics.Result, own *header.Buffer) ([]*kgo.Record, string) {
	if len(event.Dead) > 0 || t.remaining != nil {
		records := a.partRecords(t, event, own)
		destination := a.stampAll(t, result.Outputs, event, own)
		if t.remaining != nil {
			destination = records[0].Topic
		}
		return append(records, result.Outputs...), destination
	}
	switch event.Decision.Outcome {
	case policy.OutcomeParked:
		topic := a.cfg.Retries.Tiers[event.Decision.Tier].Topic
		return []*kgo.Record{keep(t, topic, a.parked(t, event), own)}, topic
	case policy.OutcomeRetried:
		topic := a.cfg.Retries.Tiers[event.Decision.Tier].Topic
		control := a.failed(t, event)
		control.Due = event.Decision.Due
		return []*kgo.Record{keep(t, topic, control, own)}, topic
	case policy.OutcomeDelivered, policy.OutcomeDuplicate, policy.OutcomeSuperseded, policy.OutcomeFiltered, policy.OutcomeSkipped:
	case policy.OutcomeDeadLettered:
		control := a.failed(t, event)
		control.DeadLetterID = event.DeadLetterID
		return []*kgo.Record{a.deadLetter(t, control, own)}, a.cfg.DLQ
	}
	return result.Outputs, a.stampAll(t, result.Outputs, event, own)
}

// stampAll adds control headers to the outputs, and returns the topic of the last one.
func (a *Shared) stampAll(t *Task, outputs []*kgo.Record, event *retrytopics.Event, own *header.Buffer) (topic string) {
	for _, out := range outputs {
		a.stamp(t, out, event, own)
		topic = out.Topic
	}
	return topic
}

// keep returns a record with the original bytes and the producer's headers, for the same partition of another topic.
func keep(t *Task, topic string, control header.Control, own *header.Buffer) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Partition: t.Raw.Partition, Key: t.Raw.Key, Value: t.Raw.Value,
		Headers: own.Append(t.Record.Headers, &control),
	}
}

// parked returns the control headers of a record that waits without an attempt.
func (a *Shared) parked(t *Task, event *retrytopics.Event) header.Control {
	c, r := *event.Record.Control, event.Record
	c.Due = event.Decision.Due
	c.Generation = t.generation()
	c.Source, c.HasSource, c.SourceTimestamp = r.Source, true, r.Timestamp
	c.Pipeline, c.RunID = a.cfg.Origin.Pipeline, a.cfg.Origin.RunID
	return c
}

// failed returns the control headers of a record whose attempt failed. They replace those of the attempt before.
func (a *Shared) failed(t *Task, event *retrytopics.Event) header.Control {
	c, r := *event.Record.Control, event.Record
	c.Attempt, c.MaxAttempts = r.Attempt, a.cfg.Retries.Policies().For(event.Failure.Category).MaxAttempts
	c.Due = time.Time{}
	if event.Decision.Outcome == policy.OutcomeDeadLettered {
		c.Sequence = 0
		c.ForceVersion, c.ReplaySource, c.ReplayGeneration = false, header.Position{}, 0 // they hold for one replay; the next one sets them again
	}
	c.FailedAt = event.At
	if c.FirstFailedAt.IsZero() {
		c.FirstFailedAt = c.FailedAt
	}
	f := event.Failure
	c.ErrorClass, c.ErrorCode, c.ErrorStage = string(f.Class), string(f.Code), string(f.Stage)
	c.ErrorMessage = f.Err.Error()
	err := kafka.Numbered(f.Err)
	c.ErrorRequest, c.ErrorResponse = classify.RequestOf(err), classify.ResponseOf(err)
	c.Generation = t.generation()
	c.Source, c.HasSource, c.SourceTimestamp = r.Source, true, r.Timestamp
	c.ContentHash, c.FeatureID, c.BBox = event.Identity.ContentHash, event.Identity.FeatureID, event.Identity.BBox
	setMarks(&c, event.Identity.Marks)
	c.Pipeline, c.RunID = a.cfg.Origin.Pipeline, a.cfg.Origin.RunID
	return c
}

// stamp adds control headers to an output. Headers that the handler set for the feature, its content or the part of the record
// stay: a handler that makes several outputs names each.
func (a *Shared) stamp(t *Task, out *kgo.Record, event *retrytopics.Event, own *header.Buffer) {
	r := event.Record
	c := header.Control{
		Source: r.Source, HasSource: true, Generation: t.generation(), Pipeline: a.cfg.Origin.Pipeline,
		ContentHash: event.Identity.ContentHash, FeatureID: event.Identity.FeatureID,
	}
	part := ""
	for _, h := range out.Headers {
		switch h.Key {
		case header.KeyFeatureID:
			c.FeatureID = string(h.Value)
		case header.KeyContentHash:
			c.ContentHash = string(h.Value)
		case header.KeyPart:
			part = string(h.Value)
		}
	}
	setMarks(&c, event.Identity.Marks)
	if r.Attempt > 1 {
		c.Attempt = r.Attempt
	}
	out.Headers = own.Append(header.ProducerHeaders(out.Headers), &c)
	if part != "" {
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: header.KeyPart, Value: []byte(part)})
	}
}

// deadLetterOf returns the ID of the event's dead letter: the one that the record replays, or else its own.
func deadLetterOf(event *retrytopics.Event) string {
	if id := event.Record.Control.DeadLetterID; id != "" || event.Decision.Outcome != policy.OutcomeDeadLettered {
		return id
	}
	return DeadLetterID(event.Record)
}

// DeadLetterID names a dead letter: "<partition>-<offset>-<8 hex>" of the record's first appearance. It is the same when a
// crash makes the same record die twice, and when a replayed dead letter dies again; the hash distinguishes topics of one name
// that were created one after another.
func DeadLetterID(r *retrytopics.Record) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s/%d/", r.Source, r.Timestamp.UnixMilli())
	h.Write(r.Key)
	h.Write(r.Value)
	return fmt.Sprintf("%d-%d-%s", r.Source.Partition, r.Source.Offset, hex.EncodeToString(h.Sum(nil)[:4]))
}
