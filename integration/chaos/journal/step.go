package journal

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Step is one decision about a record.
type Step struct {
	Decision    string    `json:"decision"` // delivered, retried, parked, dead_lettered, duplicate, superseded, filtered, skipped
	Source      string    `json:"source"`   // topic/partition/offset of the source record
	Position    string    `json:"position"` // topic/partition/offset where it was read
	Key         *string   `json:"key"`      // null for a record without a key
	Attempt     int       `json:"attempt"`
	Reason      string    `json:"reason"`
	Due         time.Time `json:"due,omitzero"`     // from the record's header
	Started     time.Time `json:"started,omitzero"` // call of the handler, by the worker's clock; zero without a call
	Next        time.Time `json:"next,omitzero"`    // due time, if the record waits again
	Destination string    `json:"destination,omitempty"`
	Sequence    int64     `json:"sequence,omitempty"`
	Worker      string    `json:"worker"`

	// Time and Pipeline turn the step into an event of the audit trail, for `consumer verify`.
	Time     time.Time `json:"time,omitzero"`
	Pipeline string    `json:"pipeline,omitempty"`
}

// Finished reports whether the step is the last one of its record.
func (s Step) Finished() bool { return s.Decision != "retried" && s.Decision != "parked" }

// Record encodes the step as a record of the journal topic, which has the source's partitions.
func (s Step) Record(topic string, partition int32) (*kgo.Record, error) {
	value, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	r := &kgo.Record{Topic: topic, Partition: partition, Value: value}
	if s.Key != nil {
		r.Key = []byte(*s.Key)
	}
	return r, nil
}

// Parse parses a step.
func Parse(r *kgo.Record) (Step, error) {
	var s Step
	if err := json.Unmarshal(r.Value, &s); err != nil {
		return s, fmt.Errorf("journal %s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err)
	}
	return s, nil
}

// String returns one line of a journey.
func (s Step) String() string {
	clock := func(at time.Time) string {
		if at.IsZero() {
			return "-"
		}
		return at.UTC().Format("15:04:05.000")
	}
	return fmt.Sprintf("%s: attempt %d by %s, due %s, started %s → %s (%s) %s, next %s, sequence %d",
		s.Position, s.Attempt, s.Worker, clock(s.Due), clock(s.Started), s.Decision, s.Reason, s.Destination, clock(s.Next), s.Sequence)
}
