package operation

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrOptions marks invalid options, whatever the dead letters are.
var ErrOptions = errors.New("replay options")

// ErrNoReason marks a change without a reason. Every change needs one.
var ErrNoReason = fmt.Errorf("%w: a change needs a reason", ErrOptions)

// Call describes who changes dead letters and why.
type Call struct {
	By     string       // operator named in states and audit; "" is the user of the operating system
	Reason string       // why, in the operator's words; required
	Lease  LeaseOptions // what to do if another replayer is running
	// Operation is the ID of a change (see [NewID]); an empty one is generated. A replay uses the ID of its plan
	// instead.
	Operation string
	// ContinueCommand returns the command that continues the operation if it stops early, for `replayer replays`. Its
	// argument is the number of selected dead letters. A nil ContinueCommand returns none.
	ContinueCommand func(letters int) string
	// IncludingPutBack allows a reopening to select dead letters that a replay sent to a topic whose readers report
	// no success. Another replay would send them a second time.
	IncludingPutBack bool
}

// LeaseOptions says what to do if another replayer is running (docs/decisions/0002).
type LeaseOptions struct {
	TakeOver bool                // end the other replayer
	Wait     time.Duration       // how long to wait for the other replayer to end; 0 does not wait
	Waiting  func(holder string) // called once for each replayer that this one waits for; may be nil
}

const (
	// MaxReason bounds a reason in bytes. Every state and every audit event contains it.
	MaxReason = 1000
	// maxBy bounds the operator's name in bytes. Every state and audit event contains it.
	maxBy = 256
	maxID = 100
)

// Check returns an error that wraps [ErrOptions] if the call is invalid.
func (c Call) Check() error {
	return cmp.Or(CheckActor(c.By), CheckID(c.Operation), CheckReason(c.Reason))
}

// CheckActor returns an error if the name of an operator is too long.
func CheckActor(by string) error {
	if len(by) > maxBy {
		return fmt.Errorf("%w: --actor has %d bytes; use at most %d", ErrOptions, len(by), maxBy)
	}
	return nil
}

// CheckReason returns [ErrNoReason] for a blank reason, and an error for one that is too long or not UTF-8.
func CheckReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return ErrNoReason
	case len(reason) > MaxReason || !utf8.ValidString(reason):
		return fmt.Errorf("%w: the reason has %d bytes; use at most %d of UTF-8 text", ErrOptions, len(reason), MaxReason)
	}
	return nil
}

// CheckID returns an error if a text cannot be the ID of an operation. An empty ID is valid.
func CheckID(id string) error {
	if len(id) > maxID || !Plain(id) {
		return fmt.Errorf("%w: replay id %q; use at most %d letters, digits, dots, underscores and hyphens", ErrOptions, id, maxID)
	}
	return nil
}

// Plain reports whether a text has only the characters that Kafka allows in the name of a topic.
func Plain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	})
}

const idTime = "20060102T150405Z"

// NewID returns a new ID that sorts by time: "replay-20261103T040506Z-1a2b3c4d".
func NewID(word string, now time.Time) string {
	var b [4]byte
	// crypto/rand.Read never fails (it ends the program instead).
	_, _ = rand.Read(b[:])
	return word + "-" + now.UTC().Format(idTime) + "-" + hex.EncodeToString(b[:])
}

// TimeOf returns the time in an ID of [NewID]. It returns the zero time for any other ID.
func TimeOf(id string) time.Time {
	parts := strings.Split(id, "-")
	if len(parts) != 3 {
		return time.Time{}
	}
	at, err := time.Parse(idTime, parts[1])
	if err != nil {
		return time.Time{}
	}
	return at
}
