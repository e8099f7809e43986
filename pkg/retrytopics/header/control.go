package header

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Control is what the control headers of one record say. The zero value of a field means that the header is absent.
type Control struct {
	Attempt, MaxAttempts                          int
	Due, FirstFailedAt, FailedAt, SourceTimestamp time.Time // UTC, whole milliseconds
	ErrorClass, ErrorCode, ErrorStage             string
	ErrorMessage                                  string
	ErrorRequest                                  *classify.Request  // what was asked when the attempt failed
	ErrorResponse                                 *classify.Response // what was answered
	Source                                        Position           // meaningful when HasSource
	HasSource                                     bool
	Generation                                    int // of the source topic of the first appearance, from 0
	ContentHash, FeatureID, BBox, RunID, Pipeline string
	DeadLetterID, ReplayID                        string
	Sequence                                      int64
	ReplayCount                                   int
	ForceVersion                                  bool     // an operator lifted the version guard for this replay
	ReplaySource                                  Position // of the replay in the source topic, when ForceVersion
	Lineage, Care, Sovereignty                    string
	Part                                          Part       // the record is this part of the one at Source, alone
	PartVersion                                   *int64     // Result.Version of the whole record, of which this is a part
	Remaining                                     *Remaining // some parts of the record have ended; nil when none has
}

// Error is a control header that cannot be read. It is a failure of its own kind: the record goes to the DLQ, the
// header is never read as zero.
type Error struct {
	Header string
	Value  string // at most 80 bytes
	Reason string
}

// Error says which header is malformed, how, and with which value.
func (e *Error) Error() string {
	return fmt.Sprintf("control header %s is malformed: %s (value %q)", e.Header, e.Reason, e.Value)
}

// FailureCode makes the error classifiable.
func (e *Error) FailureCode() classify.Code { return classify.CodeMalformedHeader }

// FailureStage makes the error classifiable.
func (e *Error) FailureStage() classify.Stage { return classify.StageHeader }

// trueText is the only value of a header that is there or is not.
const trueText = "true"

// timeLayout is RFC 3339 with exactly milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// FormatTime gives the header form of a time: RFC 3339, UTC, milliseconds. It rounds up, so that a due time never
// becomes earlier by being written.
func FormatTime(t time.Time) string { return RoundUp(t).Format(timeLayout) }

// RoundUp returns the first whole millisecond that is not before t, in UTC: the time that a header holds.
func RoundUp(t time.Time) time.Time {
	floor := t.UTC().Truncate(time.Millisecond)
	if floor.Before(t) {
		return floor.Add(time.Millisecond)
	}
	return floor
}

// ParseControl reads the control headers. It returns a *Error when one is malformed or stands twice; a header with
// our prefix and an unknown name is left alone (a newer version may have written it).
func ParseControl(headers []kgo.RecordHeader) (Control, error) {
	if !AnyControl(headers) {
		return Control{}, nil // c below takes memory of its own
	}
	var c Control
	var seen uint32
	table := c.table()
	for _, h := range headers {
		if !IsControl(h.Key) {
			continue
		}
		i := 0
		for i < len(table) && table[i].key != h.Key {
			i++
		}
		if i == len(table) {
			continue
		}
		value := string(h.Value)
		if seen&(1<<i) != 0 {
			return c, Malformed(h.Key, value, "it stands twice")
		}
		seen |= 1 << i
		if reason := setField(table[i].value, value); reason != "" {
			return c, Malformed(h.Key, value, reason)
		}
		if h.Key == KeySource {
			c.HasSource = true
		}
	}
	return c, nil
}

// AnyControl reports whether one of the headers is a control header.
func AnyControl(headers []kgo.RecordHeader) bool {
	return slices.ContainsFunc(headers, func(h kgo.RecordHeader) bool { return IsControl(h.Key) })
}

// Malformed returns the error about a header that cannot be read, with the reason.
func Malformed(key, value, reason string) *Error {
	return &Error{Header: key, Value: strings.ToValidUTF8(Clip(value, 80), "\uFFFD"), Reason: reason}
}

// setField parses value into field and gives the reason when it cannot.
func setField(field any, value string) string {
	switch f := field.(type) {
	case *string:
		if !utf8.ValidString(value) {
			return "not valid UTF-8"
		}
		*f = value
	case *int:
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 {
			return "not a whole number from 0"
		}
		*f = int(n)
	case *int64:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return "not a whole number from 0"
		}
		*f = n
	case *bool: // a word that is not written otherwise; absent is false
		if value != trueText {
			return "not the word true"
		}
		*f = true
	case *time.Time:
		t, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return "not an RFC 3339 time"
		}
		*f = t.UTC()
	case *Position:
		p, err := ParsePosition(value)
		if err != nil {
			return "not topic/partition/offset"
		}
		*f = p
	case *Part, **int64, **Remaining:
		return setPart(field, value)
	case **classify.Request:
		r, err := classify.ParseRequest(value)
		if err != nil {
			return err.Error()
		}
		*f = r
	case **classify.Response:
		r, err := classify.ParseResponse(value)
		if err != nil {
			return err.Error()
		}
		*f = r
	}
	return ""
}
