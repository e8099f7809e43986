package retrytopics

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Fits returns an error if a topic does not accept its output, as far as the cluster has told the topic's limits. Its
// code is output_too_large, or null_key for an output without a key to a compacted topic. A handler with effects of its
// own calls Fits before them: the engine refuses an output that does not fit, and the record becomes a dead letter.
func (r *Record) Fits(outputs ...*kgo.Record) error {
	switch {
	case r.engine != nil:
		return fit.Outputs(r.engine.limits.Load(), outputs)
	case r.Limits != nil:
		return fit.Outputs(r.Limits.limits, outputs)
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

// holds reports whether a topic accepts the task's record with any control headers.
func (e *Engine) holds(topic string, t *task) bool {
	if t.pointer != nil || t.pointerOnly {
		return false
	}
	return fit.Kept(e.limits.Load(), topic, t.raw, t.Weight)
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
		t.pointer = fit.Pointer(t.raw)
	}
	return fit.PointerRecord(e.cfg.DLQ, t.raw, t.pointer, t.record.Headers, &control, own)
}
