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

// Error names the topic and what it requires.
func (e *KeylessError) Error() string {
	text := fmt.Sprintf("it has no key, and topic %s is compacted, which needs one: send the record with a key, or set the topic's cleanup.policy to delete", e.Topic)
	if e.Err != nil {
		text += fmt.Sprintf(" (%v)", e.Err)
	}
	return text
}

// Unwrap returns the broker's error.
func (e *KeylessError) Unwrap() error { return e.Err }

// TooLarge returns the failure of a record that is too large for an attempt, and why.
func TooLarge(why string) error {
	return classify.WithCode(classify.CodeRecordTooLarge, classify.StageGate,
		fmt.Errorf("the record is not read into memory: %s; the original stays where it is in the source topic", why))
}

// Unreadable returns the failure of a record whose batch cannot be read, and why.
func Unreadable(why string) error {
	return classify.WithCode(classify.CodeBatchUnreadable, classify.StageDecode,
		fmt.Errorf("the batch that holds the record cannot be decompressed: %s; the original stays where it is in the source topic", why))
}

// NoTier returns the failure of a record that has to wait and does not fit into the retry topic in which it should.
func NoTier(topic string) error {
	return classify.WithCode(classify.CodeRecordTooLarge, classify.StageProduce,
		fmt.Errorf("the record has to wait for an earlier one of its key, and topic %s does not take it, even compressed: raise its max.message.bytes to that of the source plus %d",
			topic, topics.HeaderRoom))
}

// RefusedError means that a topic of the engine does not accept what the engine writes.
type RefusedError struct {
	Topic string
	Err   error
}

// Error names the setting to change.
func (e *RefusedError) Error() string {
	advice := fmt.Sprintf("raise its max.message.bytes to that of the source plus %d", topics.HeaderRoom)
	if errors.Is(e.Err, kerr.InvalidRecord) {
		advice = "its cleanup.policy must be delete: a compacted topic accepts no record without a key"
	}
	return fmt.Sprintf("topic %s refuses a record that the engine writes: %v; %s (nothing is lost)", e.Topic, e.Err, advice)
}

// Unwrap returns the broker's error.
func (e *RefusedError) Unwrap() error { return e.Err }
