package retrytopics

import (
	"iter"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// FailedPart is a part of a record that failed on its own while others did not.
type FailedPart struct {
	Part     header.Part
	Identity Identity
	// Value returns the value of the part's dead letter: what the producer sent, without the other parts.
	Value func() []byte
	Err   error
}

// PartCounts counts the outcomes of a record's parts in one attempt.
type PartCounts struct {
	Delivered    int
	Filtered     int // left out by a rule of the pipeline
	DeadLettered int // as dead letters of their own
	Waiting      int // for the next attempt
	Overtaken    int // closed with their record as duplicate or superseded, after other parts had ended
}

// Ended counts the parts that are finished, without the overtaken ones.
func (c PartCounts) Ended() int { return c.Delivered + c.Filtered + c.DeadLettered }

// Each returns the outcomes of parts with their counts. Overtaken parts have the outcome of their record.
func (c PartCounts) Each() iter.Seq2[policy.Outcome, int] {
	return func(yield func(policy.Outcome, int) bool) {
		_ = yield(policy.OutcomeDelivered, c.Delivered) && yield(policy.OutcomeFiltered, c.Filtered) &&
			yield(policy.OutcomeDeadLettered, c.DeadLettered) && yield(policy.OutcomeRetried, c.Waiting)
	}
}

// Part returns which single part of the record at Source this is; zero for a whole record.
func (r *Record) Part() header.Part {
	if r.Control == nil {
		return header.Part{}
	}
	return r.Control.Part
}

// Remaining returns the parts of the record that are left for this attempt; nil if all are.
func (r *Record) Remaining() *header.Remaining {
	if r.Control == nil {
		return nil
	}
	return r.Control.Remaining
}
