package attempt

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Fits is Record.Fits.
func (t *Task) Fits(outputs ...*kgo.Record) error { return fit.Outputs(t.by.Limits.Load(), outputs) }

// holds reports whether a topic accepts the task's record with any control headers.
func (a *Shared) holds(topic string, t *Task) bool {
	if t.Pointer != nil || t.PointerOnly {
		return false
	}
	return fit.Kept(a.Limits.Load(), topic, t.Raw, t.Weight)
}

// orDeadLetter replaces a decision for a topic into which the record does not fit: the record becomes a dead letter at
// once.
func (a *Shared) orDeadLetter(t *Task, d policy.Decision) policy.Decision {
	if d.Outcome == policy.OutcomeRetried && !a.holds(a.cfg.Retries.Tiers[d.Tier].Topic, t) {
		return policy.Decision{Outcome: policy.OutcomeDeadLettered, Reason: policy.ReasonFitsNoTier}
	}
	return d
}

// deadLetter returns the DLQ's record: the original if it fits, otherwise a pointer to it.
func (a *Shared) deadLetter(t *Task, control header.Control, own *header.Buffer) *kgo.Record {
	if a.holds(a.cfg.DLQ, t) {
		return keep(t, a.cfg.DLQ, control, own)
	}
	if t.Pointer == nil {
		t.Pointer = fit.Pointer(t.Raw)
	}
	return fit.PointerRecord(a.cfg.DLQ, t.Raw, t.Pointer, t.Record.Headers, &control, own)
}
