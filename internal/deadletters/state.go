package deadletters

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Limits of a state, far above the states of any writer. A reader of a status topic keeps part of each state.
const (
	maxState     = 64 << 10
	maxStateText = 1024
)

// State is the state of one dead letter, as it is stored in `<source>.dlq-status`. The names of the JSON members are a
// contract.
type State struct {
	ID             string              `json:"id"`                    // dead letter ID; the key of the record
	Status         Status              `json:"status"`                // one of Statuses
	Source         header.Position     `json:"source,omitzero"`       // first appearance; zero if it is unknown
	DLQ            header.Position     `json:"dlq,omitzero"`          // the record that the operator looked at; zero in the consumer's states
	Writer         Writer              `json:"-"`                     // derived from DLQ when a state is read
	KeyHash        idempotency.KeyHash `json:"key_hash,omitzero"`     // of the dead letter's key; zero if the writer does not know it
	ContentHash    string              `json:"content_hash,omitzero"` // "sha256:<64 hex>"
	ReprocessCount int                 `json:"reprocess_count"`       // ended replays of this dead letter, successful or not
	ReplayID       string              `json:"replay_id,omitzero"`    // the last replay that took it
	Reason         string              `json:"reason,omitzero"`       // why it has this status, in the words of its writer
	By             string              `json:"by,omitzero"`           // its writer: an operator, or the consumer's instance
	At             time.Time           `json:"at"`                    // when; UTC, milliseconds
	Operation      string              `json:"operation,omitzero"`    // the operator's operation that set this status; "" in the consumer's states
	Before         Status              `json:"before,omitzero"`       // the status before Operation; "" without one
	Destination    string              `json:"destination,omitzero"`  // the topic outside the pipeline that a replay sent it to; "" if none
}

// stateWire is the JSON of a state. Its own time stands for that of the state, and is nil if there is none.
type stateWire struct {
	plainState
	At *millis `json:"at"`
}

// plainState is a State without the methods that encode and check it.
type plainState State

// timeLayout is RFC 3339 with exactly three decimals, as in the headers.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// millis is a time that is encoded in UTC with exactly three decimals.
type millis time.Time

// MarshalText encodes the time.
func (m millis) MarshalText() ([]byte, error) {
	return time.Time(m).UTC().AppendFormat(nil, timeLayout), nil
}

// UnmarshalText parses an RFC 3339 time.
func (m *millis) UnmarshalText(text []byte) error {
	at, err := time.Parse(time.RFC3339, string(text))
	*m = millis(at.UTC())
	return err
}

// Naming returns the state as an operator writes it, with the position, key and content of the dead letter's record.
func (s State) Naming(l *Letter) State {
	s.Source, s.DLQ, s.KeyHash, s.ContentHash = l.Control.Source, l.DLQ, l.KeyHash(), l.ContentHash
	s.Writer = WriterOf(s.DLQ)
	return s
}

// MarshalJSON encodes the state. Invalid UTF-8 becomes U+FFFD.
func (s State) MarshalJSON() ([]byte, error) {
	at := millis(s.At)
	return json.Marshal(&stateWire{plainState(s), &at}, jsontext.AllowInvalidUTF8(true))
}

// UnmarshalJSON parses the form of [State.MarshalJSON]. An unknown status or a broken field is an error: an unreadable
// state must not count as pending.
func (s *State) UnmarshalJSON(data []byte) error {
	var w stateWire
	if err := json.Unmarshal(data, &w, jsontext.AllowInvalidUTF8(true)); err != nil {
		return err
	}
	switch {
	case w.ID == "":
		return errors.New("id is missing")
	case w.At == nil:
		return errors.New("at is missing")
	case !w.Status.Valid():
		return fmt.Errorf("unknown status %q; a newer version may have written it", header.Clip(string(w.Status), 40))
	case max(len(w.ID), len(w.ReplayID), len(w.By), len(w.Operation), len(w.Destination)) > maxStateText:
		return fmt.Errorf("id, replay_id, by, operation or destination has more than %d bytes", maxStateText)
	case w.ReprocessCount < 0:
		return fmt.Errorf("reprocess_count is %d", w.ReprocessCount)
	}
	*s = State(w.plainState)
	s.At, s.Writer = time.Time(*w.At), WriterOf(w.DLQ)
	return nil
}

// Record returns the state as a record of the status topic, keyed by the dead letter's ID. Its partition has the
// number of the dead letter's partition.
func (s State) Record(topic string, partition int32) *kgo.Record {
	value, err := s.MarshalJSON()
	if err != nil {
		// It has only strings, numbers and a time, for which the encoder returns no error.
		panic(fmt.Sprintf("deadletters: encode state %s: %v", s.ID, err))
	}
	return &kgo.Record{Topic: topic, Partition: partition, Key: []byte(s.ID), Value: value}
}

// ParseState parses the value of a status record.
func ParseState(value []byte) (State, error) {
	if len(value) > maxState {
		return State{}, fmt.Errorf("dead letter state: it has %d bytes; the maximum is %d", len(value), maxState)
	}
	var s State
	if err := s.UnmarshalJSON(value); err != nil {
		return State{}, fmt.Errorf("dead letter state: %w", err)
	}
	return s, nil
}
