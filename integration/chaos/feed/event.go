package feed

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is the value of a source record.
type Event struct {
	ID        int           `json:"id"`                  // unique, but for duplicates
	Fails     int           `json:"fails,omitempty"`     // attempts that fail transiently before one succeeds
	Permanent bool          `json:"permanent,omitempty"` // every attempt fails permanently
	Takes     time.Duration `json:"takes,omitempty"`     // how long an attempt takes, nanoseconds
	Pad       string        `json:"pad,omitempty"`
}

// Parse reads a record's value; that of a tombstone is the zero Event: it succeeds.
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

// Dies reports whether the event must end in the DLQ when it is given so many attempts.
func (e Event) Dies(maxAttempts int) bool { return e.Permanent || e.Fails >= maxAttempts }
