package retrytopics

import (
	"iter"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// FailedPart is a part of a record that failed by itself, while others did not.
type FailedPart struct {
	Part     header.Part
	Identity Identity
	// Value gives what a dead letter of the part holds: what the producer sent, without the other parts.
	Value func() []byte
	Err   error
}

// PartCounts says what became of the parts of a record in one attempt.
type PartCounts struct {
	Delivered    int
	Filtered     int // left out by a rule of the pipeline
	DeadLettered int // as dead letters of their own
	Waiting      int // for the next attempt
	Overtaken    int // closed with the rest of their record as duplicate or superseded, after others had ended
}

// Ended counts the parts that have their end, without those that were overtaken.
func (c PartCounts) Ended() int { return c.Delivered + c.Filtered + c.DeadLettered }

// Each gives the outcomes of parts, and how many have each. Overtaken ones have that of their record.
func (c PartCounts) Each() iter.Seq2[policy.Outcome, int] {
	return func(yield func(policy.Outcome, int) bool) {
		_ = yield(policy.OutcomeDelivered, c.Delivered) && yield(policy.OutcomeFiltered, c.Filtered) &&
			yield(policy.OutcomeDeadLettered, c.DeadLettered) && yield(policy.OutcomeRetried, c.Waiting)
	}
}

// Part says which part of the record at Source this is, alone; zero for a whole record.
func (r *Record) Part() header.Part {
	if r.Control == nil {
		return header.Part{}
	}
	return r.Control.Part
}

// Remaining says which parts of the record are left for this attempt; nil when all of them are.
func (r *Record) Remaining() *header.Remaining {
	if r.Control == nil {
		return nil
	}
	return r.Control.Remaining
}
