package header

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Position is the place of a record: one offset of one partition of one topic.
type Position struct {
	Topic     string
	Partition int32
	Offset    int64
}

// String returns "topic/partition/offset", the form of the header switchback-source.
func (p Position) String() string {
	return string(p.append(make([]byte, 0, len(p.Topic)+32)))
}

// IsZero reports whether the position is unknown: it names no topic.
func (p Position) IsZero() bool { return p.Topic == "" }

// MarshalText returns the form of [Position.String].
func (p Position) MarshalText() ([]byte, error) { return p.append(nil), nil }

// UnmarshalText parses the form of [Position.MarshalText].
func (p *Position) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePosition(string(text))
	return err
}

func (p *Position) append(text []byte) []byte {
	text = append(append(text, p.Topic...), '/')
	text = append(strconv.AppendInt(text, int64(p.Partition), 10), '/')
	return strconv.AppendInt(text, p.Offset, 10)
}

// ParsePosition parses "topic/partition/offset". Kafka allows no slash in a topic name, so the form is unambiguous.
func ParsePosition(text string) (Position, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[0] == "" {
		return Position{}, fmt.Errorf("position %q: want topic/partition/offset", Clip(text, 80))
	}
	partition, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil || partition < 0 {
		return Position{}, fmt.Errorf("position %q: partition %q is not a number from 0", Clip(text, 80), Clip(parts[1], 20))
	}
	offset, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || offset < 0 {
		return Position{}, fmt.Errorf("position %q: offset %q is not a number from 0", Clip(text, 80), Clip(parts[2], 20))
	}
	return Position{Topic: parts[0], Partition: int32(partition), Offset: offset}, nil
}

// Cut cuts text to at most n bytes without splitting a UTF-8 sequence.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Clip is [Cut] that marks the cut with an ellipsis. What it cuts is valid UTF-8: U+FFFD replaces other bytes.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(Cut(text, n), "\uFFFD") + "…"
}
