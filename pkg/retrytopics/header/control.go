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

// Control has the values of one record's control headers. A zero field means that the header is absent.
type Control struct {
	Attempt, MaxAttempts                          int
	Due, FirstFailedAt, FailedAt, SourceTimestamp time.Time // UTC, whole milliseconds
	ErrorClass, ErrorCode, ErrorStage             string
	ErrorMessage                                  string
	ErrorRequest                                  *classify.Request  // the request of the failed attempt
	ErrorResponse                                 *classify.Response // the answer to it
	Source                                        Position           // valid if HasSource
	HasSource                                     bool
	Generation                                    int // of the source topic of the first appearance, from 0
	ContentHash, FeatureID, BBox, RunID, Pipeline string
	DeadLetterID, ReplayID                        string
	Sequence                                      int64
	ReplayCount                                   int
	ForceVersion                                  bool     // an operator lifted the version guard for this replay
	ReplaySource                                  Position // of the replay in the source topic, if ForceVersion
	ReplayGeneration                              int      // of the source topic of ReplaySource, from 0
	Lineage, Care, Sovereignty                    string
	Part                                          Part       // the record is this single part of the record at Source
	PartVersion                                   *int64     // Result.Version of the whole record whose part this is
	Remaining                                     *Remaining // some parts of the record are finished; nil if none is
}

// Error is a malformed control header. It is a failure of its own kind: the record goes to the DLQ, and the header is
// never read as zero.
type Error struct {
	Header string
	Value  string // at most 80 bytes
	Reason string
}

// Error names the malformed header, the reason and the value.
func (e *Error) Error() string {
	return fmt.Sprintf("control header %s is malformed: %s (value %q)", e.Header, e.Reason, e.Value)
}

// FailureCode makes the error classifiable.
func (e *Error) FailureCode() classify.Code { return classify.CodeMalformedHeader }

// FailureStage makes the error classifiable.
func (e *Error) FailureStage() classify.Stage { return classify.StageHeader }

// trueText is the only value of a header that is either present or absent.
const trueText = "true"

// timeLayout is RFC 3339 with exactly three decimals.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// FormatTime returns the header form of a time: RFC 3339, UTC, milliseconds. It rounds up, so that writing a due time
// never makes it earlier.
func FormatTime(t time.Time) string { return RoundUp(t).Format(timeLayout) }

// RoundUp returns the first whole millisecond that is not before t, in UTC, which is what a header can hold.
func RoundUp(t time.Time) time.Time {
	floor := t.UTC().Truncate(time.Millisecond)
	if floor.Before(t) {
		return floor.Add(time.Millisecond)
	}
	return floor
}

// ParseControl parses the control headers. It returns an *Error if one is malformed or duplicated. It ignores a header
// with our prefix and an unknown name, because a newer version may have written it.
func ParseControl(headers []kgo.RecordHeader) (Control, error) {
	if !AnyControl(headers) {
		return Control{}, nil // c below would be allocated
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
			return c, Malformed(h.Key, value, "it occurs twice")
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

// Malformed returns the error about a malformed header, with the reason.
func Malformed(key, value, reason string) *Error {
	return &Error{Header: key, Value: strings.ToValidUTF8(Clip(value, 80), "\uFFFD"), Reason: reason}
}

// setField parses value into field, and returns the reason if it cannot.
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
	case *bool: // present means true; absent is false
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
