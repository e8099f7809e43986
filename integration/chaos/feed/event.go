package feed

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is the value of a source record.
type Event struct {
	ID        int           `json:"id"`                  // unique, except for duplicates
	Fails     int           `json:"fails,omitempty"`     // attempts that fail transiently before one succeeds
	Permanent bool          `json:"permanent,omitempty"` // every attempt fails permanently
	Takes     time.Duration `json:"takes,omitempty"`     // duration of an attempt, in nanoseconds
	Pad       string        `json:"pad,omitempty"`
}

// Parse parses a record's value. A tombstone is the zero Event, which succeeds.
func Parse(value []byte) (Event, error) {
	var e Event
	if value == nil {
		return e, nil
	}
	if err := json.Unmarshal(value, &e); err != nil {
		return e, fmt.Errorf("value of a source record: %w", err)
	}
	return e, nil
}

// Dies reports whether the event must become a dead letter after this many attempts.
func (e Event) Dies(maxAttempts int) bool { return e.Permanent || e.Fails >= maxAttempts }
