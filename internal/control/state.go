package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Phase is the ordered state of a pipeline or a batch. It is a closed list (see [Phases]).
type Phase string

// The phases.
const (
	Running     Phase = "running"     // of a pipeline: it works
	Paused      Phase = "paused"      // of a pipeline: no instance accepts records or begins attempts
	Quarantined Phase = "quarantined" // of a batch: all its records go to the DLQ
)

// Phases lists every phase.
func Phases() []Phase { return []Phase{Running, Paused, Quarantined} }

// Code is the kind of an order. It may also be one of classify.Codes: that of the failure for which a gate paused the
// pipeline.
type Code string

// The codes.
const (
	CodeOperator       Code = "operator"         // a person
	CodeTransientRate  Code = "transient_rate"   // too many records failed transiently at their first attempt (S1-8)
	CodeDeadLetterRate Code = "dead_letter_rate" // too many dead letters (S4-9)
	CodeNullRate       Code = "null_rate"        // a field has no value too often (S0-2, S0-9)
)

// Codes lists every code of this package.
func Codes() []Code { return []Code{CodeOperator, CodeTransientRate, CodeDeadLetterRate, CodeNullRate} }

// State is one order: of the pipeline, or of a batch.
type State struct {
	Phase  Phase     `json:"state"`
	Code   Code      `json:"code,omitempty"`
	Reason string    `json:"reason,omitempty"` // in words: the operator's, or the counted and the tolerated rate
	By     string    `json:"by,omitempty"`     // a person, or "consumer" and the name of the instance
	RunID  string    `json:"run_id,omitempty"` // of the process, if it is part of a run
	At     time.Time `json:"at"`               // UTC, milliseconds
	// GatesOff is until when the rate gates do not pause a running pipeline, at most MaxGatesOff after At; zero if they
	// do. It is an instant and not a duration, so that an instance that starts later reads the same end.
	GatesOff time.Time `json:"gates_off_until,omitzero"`
}

// MaxGatesOff is the longest time for which one order switches the gates off.
const MaxGatesOff = 24 * time.Hour

// MaxReason is the longest State.Reason that is written, in bytes.
const MaxReason = 1024

// version is the version of the JSON format below. A record with a greater one is refused: it may mean something else.
const version = 1

// stateWire is the JSON of a state.
type stateWire struct {
	Version int `json:"version"`
	State
}

// ErrNewer means that a newer version of the software wrote a record.
var ErrNewer = errors.New("written by a newer version of this software; upgrade this instance")

// IsPaused reports whether the state stops a pipeline.
func (s State) IsPaused() bool { return s.Phase == Paused }

// String returns the order in one line: "paused since … by …: … (code)".
func (s State) String() string {
	if s.At.IsZero() {
		return string(s.Phase)
	}
	text := fmt.Sprintf("%s since %s", s.Phase, s.At.UTC().Format(time.RFC3339))
	if s.By != "" {
		text += " by " + s.By
	}
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	if s.Code != "" {
		text += " (" + string(s.Code) + ")"
	}
	if !s.GatesOff.IsZero() {
		text += ", rate gates off until " + s.GatesOff.UTC().Format(time.RFC3339)
	}
	return text
}

func (s State) encode() ([]byte, error) {
	if !slices.Contains(Phases(), s.Phase) {
		return nil, fmt.Errorf("control state %q; use one of %v", s.Phase, Phases())
	}
	if s.At.IsZero() {
		return nil, fmt.Errorf("control state %q has no time", s.Phase)
	}
	if !s.GatesOff.IsZero() {
		if length := s.GatesOff.Sub(s.At); s.Phase != Running || length <= 0 || length > MaxGatesOff {
			return nil, fmt.Errorf("control state %q with gates off for %s; they are off for more than 0 and at most %s while a pipeline runs", s.Phase, length, MaxGatesOff)
		}
	}
	s.Reason = strings.ToValidUTF8(s.Reason, "�")
	if len(s.Reason) > MaxReason {
		s.Reason = strings.ToValidUTF8(s.Reason[:MaxReason-len("…")], "") + "…"
	}
	s.At, s.GatesOff = s.At.UTC().Truncate(time.Millisecond), s.GatesOff.UTC().Truncate(time.Millisecond)
	return json.Marshal(stateWire{version, s})
}

// decode parses a state. It ignores unknown fields, which a later version may add without a new meaning.
func decode(value []byte) (State, error) {
	var w stateWire
	if err := json.Unmarshal(value, &w); err != nil {
		return State{}, err
	}
	s := w.State
	switch {
	case w.Version > version:
		return State{}, fmt.Errorf("version %d: %w", w.Version, ErrNewer)
	case w.Version < 1:
		return State{}, fmt.Errorf("version %d is none", w.Version)
	case !slices.Contains(Phases(), s.Phase):
		return State{}, fmt.Errorf("state %q; want one of %v", s.Phase, Phases())
	case s.At.IsZero():
		return State{}, errors.New("it has no time")
	}
	s.At, s.GatesOff = s.At.UTC(), s.gatesOff()
	return s, nil
}

// gatesOff returns the time until which the gates are off. For a value that no version writes, that time is near: gates
// that pause too much lose nothing.
func (s State) gatesOff() time.Time {
	off, limit := s.GatesOff, s.At.Add(MaxGatesOff)
	if off.After(limit) {
		off = limit
	}
	if s.Phase != Running || !off.After(s.At) {
		return time.Time{}
	}
	return off.UTC()
}

// GatesOffUntil returns until when the gates are off, by the clock of a process that read the order at received. The
// time after received is limited to the duration in the order, so an order from a machine whose clock is ahead does
// not switch the gates off for years. It is zero if the time is over by this clock.
func (s State) GatesOffUntil(heard time.Time) time.Time {
	until := s.GatesOff
	if limit := heard.Add(s.GatesOff.Sub(s.At)); until.After(limit) {
		until = limit
	}
	if !until.After(heard) {
		return time.Time{}
	}
	return until
}
