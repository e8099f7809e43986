package fit

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
)

// OutputError marks an output that the broker will never accept.
type OutputError struct{ Err error }

// Error names the cause.
func (e *OutputError) Error() string {
	return fmt.Sprintf("the output of this record cannot be written: %v", e.Err)
}

// Unwrap returns the cause.
func (e *OutputError) Unwrap() error { return e.Err }

// FailureCode distinguishes an output that is too large from one that the broker refuses for another reason.
func (e *OutputError) FailureCode() classify.Code {
	_, keyless := errors.AsType[*KeylessError](e.Err)
	switch {
	case keyless:
		return classify.CodeNullKey
	case errors.Is(e.Err, kerr.InvalidRecord), errors.Is(e.Err, kerr.InvalidTimestamp):
		return classify.CodeBrokerRejected
	}
	return classify.CodeOutputTooLarge
}

// FailureStage returns the stage in which outputs are written.
func (e *OutputError) FailureStage() classify.Stage { return classify.StageProduce }

// KeylessError is an output without a key for a topic that needs keys.
type KeylessError struct {
	Topic string
	Err   error // the broker's; nil if it was not asked
}

// Error says what the topic needs.
func (e *KeylessError) Error() string {
	text := fmt.Sprintf("it has no key, and topic %s is compacted, which needs one: send the record with a key, or set the topic's cleanup.policy to delete", e.Topic)
	if e.Err != nil {
		text += fmt.Sprintf(" (%v)", e.Err)
	}
	return text
}

// Unwrap returns the broker's error.
func (e *KeylessError) Unwrap() error { return e.Err }

// SizeError is the reason why a record is too large for an attempt.
type SizeError struct{ Why string }

// Error says where the record is.
func (e *SizeError) Error() string {
	return "the record is not read into memory: " + e.Why + "; the original stays where it is in the source topic"
}

// FailureCode is that of a record that is too large.
func (e *SizeError) FailureCode() classify.Code { return classify.CodeRecordTooLarge }

// FailureStage returns the stage before all others.
func (e *SizeError) FailureStage() classify.Stage { return classify.StageGate }

// BatchError means that the batch of a record cannot be read.
type BatchError struct{ Err error }

// Error says where the record is.
func (e *BatchError) Error() string {
	return fmt.Sprintf("the batch that holds the record cannot be decompressed: %v; the original stays where it is in the source topic", e.Err)
}

// Unwrap returns the cause.
func (e *BatchError) Unwrap() error { return e.Err }

// FailureCode is that of an unreadable batch.
func (e *BatchError) FailureCode() classify.Code { return classify.CodeBatchUnreadable }

// FailureStage returns the stage in which records are read.
func (e *BatchError) FailureStage() classify.Stage { return classify.StageDecode }

// NoTierError means that a record that has to wait does not fit into the retry topic in which it should.
type NoTierError struct{ Topic string }

// Error says what to raise.
func (e *NoTierError) Error() string {
	return fmt.Sprintf("the record has to wait for an earlier one of its key, and topic %s does not take it, even compressed: raise its max.message.bytes to that of the source plus %d",
		e.Topic, topics.HeaderRoom)
}

// FailureCode is that of a record that is too large.
func (e *NoTierError) FailureCode() classify.Code { return classify.CodeRecordTooLarge }

// FailureStage returns the stage in which records are written.
func (e *NoTierError) FailureStage() classify.Stage { return classify.StageProduce }

// RefusedError means that a topic of the engine does not accept what the engine writes.
type RefusedError struct {
	Topic string
	Err   error
}

// Error says what to change.
func (e *RefusedError) Error() string {
	advice := fmt.Sprintf("raise its max.message.bytes to that of the source plus %d", topics.HeaderRoom)
	if errors.Is(e.Err, kerr.InvalidRecord) {
		advice = "its cleanup.policy must be delete: a compacted topic takes no record without a key"
	}
	return fmt.Sprintf("topic %s refuses a record that the engine writes: %v; %s (nothing is lost)", e.Topic, e.Err, advice)
}

// Unwrap returns the broker's error.
func (e *RefusedError) Unwrap() error { return e.Err }
