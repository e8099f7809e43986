package retrytopics

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// If a record does not fit into a tier or the DLQ, the DLQ gets a pointer to it: its position, size, hash and first
// bytes. So the flow goes on, whatever the brokers accept.

// headersReserve is more than an output's control headers need; they are written after the output is checked. Of a topic
// with a small limit, smallShare of the limit is reserved for them, and the broker decides about the rest.
const (
	headersReserve = 2 << 10
	smallShare     = 8
)

// keylessError is an output without a key for a topic that needs keys.
type keylessError struct {
	topic string
	err   error // the broker's; nil if it was not asked
}

// Error says what the topic needs.
func (e *keylessError) Error() string {
	text := fmt.Sprintf("it has no key, and topic %s is compacted, which needs one: send the record with a key, or set the topic's cleanup.policy to delete", e.topic)
	if e.err != nil {
		text += fmt.Sprintf(" (%v)", e.err)
	}
	return text
}

// Unwrap returns the broker's error.
func (e *keylessError) Unwrap() error { return e.err }

// Fits returns an error if a topic does not accept its output, as far as the cluster has told the topic's limits. Its
// code is output_too_large, or null_key for an output without a key to a compacted topic. A handler with effects of its
// own calls Fits before them: the engine refuses an output that does not fit, and the record becomes a dead letter.
func (r *Record) Fits(outputs ...*kgo.Record) error {
	switch {
	case r.engine != nil:
		return fits(r.engine.limits.Load(), outputs)
	case r.Limits != nil:
		return fits(r.Limits.limits, outputs)
	}
	return nil
}

// TopicLimits are the limits of topics, for callers that judge a record without an engine, such as a dry run.
type TopicLimits struct{ limits *kafka.Limits }

// ReadLimits asks the cluster for the limits of topics. It returns an error if one of them is unknown.
func ReadLimits(ctx context.Context, client *kgo.Client, topics ...string) (*TopicLimits, error) {
	told, err := kafka.ReadLimits(ctx, kadm.NewClient(client), topics)
	if err != nil {
		return nil, fmt.Errorf("read the limits of topics: %w", err)
	}
	for _, topic := range topics {
		if _, ok := told.Bytes[topic]; !ok {
			return nil, fmt.Errorf("the settings of topic %s cannot be read: is it there, and may they be described (DescribeConfigs)?", topic)
		}
	}
	return &TopicLimits{kafka.NewLimits(told, topics)}, nil
}

// fits returns an error if a topic does not accept its output.
func fits(limits *kafka.Limits, outputs []*kgo.Record) error {
	for _, out := range outputs {
		if compacted, _ := limits.Compacts(out.Topic); compacted && out.Key == nil {
			return &outputError{&keylessError{topic: out.Topic}}
		}
		limit, told := limits.Of(out.Topic)
		if told && !limits.Compressor().Fits(out, limit-min(headersReserve, limit/smallShare)) {
			return &outputError{fmt.Errorf("%d bytes, even compressed, are more than topic %s takes (max.message.bytes is %d): raise it, or map less",
				recordbatch.Bytes(out), out.Topic, limit)}
		}
	}
	return nil
}

// sizeError is the reason why a record is too large for an attempt.
type sizeError struct{ why string }

func (e *sizeError) Error() string {
	return "the record is not read into memory: " + e.why + "; the original stays where it is in the source topic"
}
func (e *sizeError) FailureCode() classify.Code   { return classify.CodeRecordTooLarge }
func (e *sizeError) FailureStage() classify.Stage { return classify.StageGate }

// batchError means that the batch of a record cannot be read.
type batchError struct{ err error }

func (e *batchError) Error() string {
	return fmt.Sprintf("the batch that holds the record cannot be decompressed: %v; the original stays where it is in the source topic", e.err)
}
func (e *batchError) Unwrap() error                { return e.err }
func (e *batchError) FailureCode() classify.Code   { return classify.CodeBatchUnreadable }
func (e *batchError) FailureStage() classify.Stage { return classify.StageDecode }

// noTierError means that a record that has to wait fits into no tier.
type noTierError struct{ topic string }

func (e *noTierError) Error() string {
	return fmt.Sprintf("the record has to wait for an earlier one of its key, and topic %s does not take it, even compressed: raise its max.message.bytes to that of the source plus %d",
		e.topic, topics.HeaderRoom)
}
func (e *noTierError) FailureCode() classify.Code   { return classify.CodeRecordTooLarge }
func (e *noTierError) FailureStage() classify.Stage { return classify.StageProduce }

// holds reports whether a topic accepts the task's record with any control headers.
func (e *Engine) holds(topic string, t *task) bool {
	if t.pointer != nil || t.pointerOnly {
		return false
	}
	limits := e.limits.Load()
	limit, told := limits.Of(topic)
	return !told || t.Weight+header.MaxBytes <= limit || limits.Compressor().Fits(t.raw, limit-header.MaxBytes)
}

// orDeadLetter replaces a decision for a topic into which the record does not fit: the record becomes a dead letter at
// once.
func (e *Engine) orDeadLetter(t *task, d policy.Decision) policy.Decision {
	if d.Outcome == policy.OutcomeRetried && !e.holds(e.cfg.Retries.Tiers[d.Tier].Topic, t) {
		return policy.Decision{Outcome: policy.OutcomeDeadLettered, Reason: policy.ReasonFitsNoTier}
	}
	return d
}

// deadLetter returns the DLQ's record: the original if it fits, otherwise a pointer to it.
func (e *Engine) deadLetter(t *task, control header.Control, own *header.Buffer) *kgo.Record {
	if e.holds(e.cfg.DLQ, t) {
		return keep(t, e.cfg.DLQ, control, own)
	}
	if t.pointer == nil {
		p := header.PointTo(t.record.Position, t.raw.Key, t.raw.Value, len(t.raw.Key) <= pointerKey)
		t.pointer = &p
	}
	kept := &kgo.Record{Topic: e.cfg.DLQ, Partition: t.raw.Partition, Key: t.raw.Key, Value: []byte{}}
	if len(kept.Key) > pointerKey {
		kept.Key = nil
	}
	var producers []kgo.RecordHeader
	if n := recordbatch.Bytes(&kgo.Record{Headers: t.record.Headers}); n <= pointerHeaders {
		producers = t.record.Headers
	}
	kept.Headers = t.pointer.Append(own.Append(producers, &control))
	return kept
}

// What a pointer record keeps of the original beside the pointer: a key and headers that fit into any topic.
const (
	pointerKey     = 64 << 10
	pointerHeaders = 64 << 10
)
