package deadletters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Limits of a state, far above what any writer makes. A reader of a status topic keeps something of each state.
const (
	maxState     = 64 << 10
	maxStateText = 1024
)

// timeLayout is RFC 3339 with exactly three decimals, as in the headers.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// State is the state of one dead letter, as it is stored in `<source>.dlq-status`.
type State struct {
	ID             string              // dead letter ID; the key of the record
	Status         Status              // one of Statuses
	Source         header.Position     // first appearance; zero if it is unknown
	DLQ            header.Position     // the record that the operator looked at; zero in the consumer's states
	Writer         Writer              // derived from DLQ when a state is read
	KeyHash        idempotency.KeyHash // of the dead letter's key; zero if the writer does not know it
	ContentHash    string              // "sha256:<64 hex>"
	ReprocessCount int                 // ended replays of this dead letter, successful or not
	ReplayID       string              // the last replay that took it
	Reason         string              // why it has this status, in the words of its writer
	By             string              // its writer: an operator, or the consumer's instance
	At             time.Time           // when; UTC, milliseconds
	Operation      string              // the operator's operation that set this status; "" in the consumer's states
	Before         Status              // the status before Operation; "" without one
	Destination    string              // the topic outside the pipeline that a replay sent it to; "" if none
}

// stateWire is the JSON of a state; the names are a contract.
type stateWire struct {
	ID             string              `json:"id"`
	Status         Status              `json:"status"`
	Source         string              `json:"source,omitempty"`
	DLQ            string              `json:"dlq,omitempty"`
	KeyHash        idempotency.KeyHash `json:"key_hash,omitzero"`
	ContentHash    string              `json:"content_hash,omitempty"`
	ReprocessCount int                 `json:"reprocess_count"`
	ReplayID       string              `json:"replay_id,omitempty"`
	Reason         string              `json:"reason,omitempty"`
	By             string              `json:"by,omitempty"`
	At             string              `json:"at"`
	Operation      string              `json:"operation,omitempty"`
	Before         Status              `json:"before,omitempty"`
	Destination    string              `json:"destination,omitempty"`
}

// Naming returns the state as an operator writes it, with the position, key and content of the dead letter's record.
func (s State) Naming(l *Letter) State {
	s.Source, s.DLQ, s.KeyHash, s.ContentHash = l.Control.Source, l.DLQ, l.KeyHash(), l.ContentHash
	s.Writer = WriterOf(s.DLQ)
	return s
}

// MarshalJSON writes the contract's field names, positions as "topic/partition/offset".
func (s State) MarshalJSON() ([]byte, error) {
	return json.Marshal(stateWire{
		ID: s.ID, Status: s.Status, Source: positionText(s.Source), DLQ: positionText(s.DLQ),
		KeyHash: s.KeyHash, ContentHash: s.ContentHash, ReprocessCount: s.ReprocessCount, ReplayID: s.ReplayID,
		Reason: s.Reason, By: s.By, At: s.At.UTC().Format(timeLayout), Operation: s.Operation, Before: s.Before,
		Destination: s.Destination,
	})
}

// UnmarshalJSON parses the form of [State.MarshalJSON]. An unknown status or a broken field is an error: an unreadable
// state must not count as pending.
func (s *State) UnmarshalJSON(data []byte) error {
	var w stateWire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	if w.ID == "" {
		return errors.New("id is missing")
	}
	if !w.Status.Valid() {
		return fmt.Errorf("unknown status %q; a newer version may have written it", clip(string(w.Status), 40))
	}
	if len(w.ID) > maxStateText || len(w.ReplayID) > maxStateText || len(w.By) > maxStateText || len(w.Operation) > maxStateText || len(w.Destination) > maxStateText {
		return fmt.Errorf("id, replay_id, by, operation or destination has more than %d bytes", maxStateText)
	}
	if w.ReprocessCount < 0 {
		return fmt.Errorf("reprocess_count is %d", w.ReprocessCount)
	}
	source, err := parsePosition(w.Source)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	dlq, err := parsePosition(w.DLQ)
	if err != nil {
		return fmt.Errorf("dlq: %w", err)
	}
	at, err := time.Parse(time.RFC3339, w.At)
	if err != nil {
		return fmt.Errorf("at: %q is not an RFC 3339 time", clip(w.At, 40))
	}
	*s = State{
		ID: w.ID, Status: w.Status, Source: source, DLQ: dlq, Writer: WriterOf(dlq), KeyHash: w.KeyHash, ContentHash: w.ContentHash,
		ReprocessCount: w.ReprocessCount, ReplayID: w.ReplayID, Reason: w.Reason, By: w.By, At: at.UTC(), Operation: w.Operation, Before: w.Before,
		Destination: w.Destination,
	}
	return nil
}

// Record returns the state as a record of the status topic, keyed by the dead letter's ID. Its partition is the dead
// letter's, so that a shard's states are in its own partition.
func (s State) Record(topic string, partition int32) *kgo.Record {
	value, err := s.MarshalJSON()
	if err != nil {
		// It has only strings and numbers; encoding/json returns no error for these.
		panic(fmt.Sprintf("deadletters: encode state %s: %v", s.ID, err))
	}
	return &kgo.Record{Topic: topic, Partition: partition, Key: []byte(s.ID), Value: value}
}

// ParseState parses the value of a status record.
func ParseState(value []byte) (State, error) {
	if len(value) > maxState {
		return State{}, fmt.Errorf("dead letter state: it has %d bytes, at most %d can be", len(value), maxState)
	}
	if len(bytes.TrimSpace(value)) == 0 {
		return State{}, errors.New("dead letter state: empty value")
	}
	var s State
	if err := json.Unmarshal(value, &s); err != nil {
		return State{}, fmt.Errorf("dead letter state: %w", err)
	}
	return s, nil
}

func positionText(p header.Position) string {
	if p.Topic == "" {
		return ""
	}
	return p.String()
}

func parsePosition(text string) (header.Position, error) {
	if text == "" {
		return header.Position{}, nil
	}
	return header.ParsePosition(text)
}
