package retrytopics

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Fits is Record.Fits.
func (t *task) Fits(outputs ...*kgo.Record) error { return fit.Outputs(t.by.limits.Load(), outputs) }

// holds reports whether a topic accepts the task's record with any control headers.
func (a *attempts) holds(topic string, t *task) bool {
	if t.pointer != nil || t.pointerOnly {
		return false
	}
	return fit.Kept(a.limits.Load(), topic, t.raw, t.Weight)
}

// orDeadLetter replaces a decision for a topic into which the record does not fit: the record becomes a dead letter at
// once.
func (a *attempts) orDeadLetter(t *task, d policy.Decision) policy.Decision {
	if d.Outcome == policy.OutcomeRetried && !a.holds(a.cfg.Retries.Tiers[d.Tier].Topic, t) {
		return policy.Decision{Outcome: policy.OutcomeDeadLettered, Reason: policy.ReasonFitsNoTier}
	}
	return d
}

// deadLetter returns the DLQ's record: the original if it fits, otherwise a pointer to it.
func (a *attempts) deadLetter(t *task, control header.Control, own *header.Buffer) *kgo.Record {
	if a.holds(a.cfg.DLQ, t) {
		return keep(t, a.cfg.DLQ, control, own)
	}
	if t.pointer == nil {
		t.pointer = fit.Pointer(t.raw)
	}
	return fit.PointerRecord(a.cfg.DLQ, t.raw, t.pointer, t.record.Headers, &control, own)
}
