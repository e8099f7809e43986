package dialects

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxPartition is above every real partition number. Four digits of text, read as a binary number,
// are far above it.
const maxPartition = 1_000_000

// maxText bounds what is taken over of a header; stack traces and messages can be long.
const maxText = 4096

const (
	maxClass    = 512  // bytes of the name of a class that is read out of a longer text
	maxCausedBy = 1024 // bytes of what is read of a cause
	triedCauses = 16   // lines of a stack trace that are tried, from its end, until one names a class
)

// bag is the headers of one record, in their order, with repetitions.
type bag []kgo.RecordHeader

// place says which of repeated headers counts.
type place bool

const (
	first place = false
	last  place = true
)

// index returns the position of the first or the last header of a name, or -1.
func (b bag) index(p place, name string) int {
	if p == first {
		return slices.IndexFunc(b, func(h kgo.RecordHeader) bool { return h.Key == name })
	}
	for i, h := range slices.Backward(b) {
		if h.Key == name {
			return i
		}
	}
	return -1
}

func (b bag) has(name string) bool { return b.index(first, name) >= 0 }

// at returns the first or the last value of a name.
func (b bag) at(p place, name string) ([]byte, bool) {
	if i := b.index(p, name); i >= 0 {
		return b[i].Value, true
	}
	return nil, false
}

// reader reads headers of one letter and collects what cannot be understood.
type reader struct {
	bag
	problems []string
}

func (r *reader) problem(name, format string, args ...any) {
	r.problems = append(r.problems, "header "+name+": "+fmt.Sprintf(format, args...))
}

// text reads a header as UTF-8; absent is "".
func (r *reader) text(p place, name string) string {
	v, _ := r.at(p, name)
	if len(v) > maxText {
		v = v[:maxText]
	}
	return strings.ToValidUTF8(string(v), "\uFFFD")
}

// rootCause reads the innermost cause from the newest stack trace as Java prints it: its class, and the first line of what it says, with the class. Both
// are "" when the exception has no cause. The causes of suppressed exceptions are set in, and do not count.
func (r *reader) rootCause(name string) (class, line string) {
	const mark = "\nCaused by: "
	trace, _ := r.at(last, name)
	for range triedCauses {
		at := bytes.LastIndex(trace, []byte(mark))
		rest, found := trace[max(at, 0):], at >= 0
		if found {
			rest = rest[len(mark):]
		} else if rest, found = bytes.CutPrefix(trace, []byte(mark[1:])); !found {
			break
		}
		if class, line = cause(rest); class != "" {
			return class, line
		}
		trace = trace[:max(at, 0)]
	}
	return "", ""
}

// cause reads the class that a text begins with, and the line that it begins. Both are "" when that is no class.
func cause(text []byte) (class, line string) {
	text = text[:min(len(text), maxCausedBy)]
	if end := bytes.IndexAny(text, "\r\n"); end >= 0 {
		text = text[:end]
	}
	name, _, _ := bytes.Cut(text, []byte(":"))
	if len(name) > maxClass || bytes.IndexFunc(name, notOfClass) >= 0 {
		return "", ""
	}
	return string(name), strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD"))
}

// notOfClass reports whether a rune cannot stand in the full name of a Java class.
func notOfClass(c rune) bool {
	return c == utf8.RuneError || c != '.' && c != '$' && c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
}

// What no number can be above.
const (
	mostOffset   = 1 << 60 // eight digits of text, read as a binary number, are above it
	mostAttempts = math.MaxInt32
	mostMillis   = 253402300799999 // the end of the year 9999
)

// number reads a whole number from 0 up to most, as text or as a big-endian number of 1, 2, 4 or 8 bytes, whatever the library writes:
// what another program has passed on may have another form. Digits are text: read as the bytes of a number they would be beyond most,
// but for one or two bytes, where nobody writes that large a number.
func (r *reader) number(p place, name string, most int64) (int64, bool) {
	v, ok := r.at(p, name)
	if !ok {
		return 0, false
	}
	n, ok := numberOf(v)
	if !ok || n < 0 || n > most {
		r.problem(name, "%q is no whole number from 0 to %d, neither as text nor in 1, 2, 4 or 8 bytes", short(v), most)
		return 0, false
	}
	return n, true
}

// numberOf reads a number as text, or else as bytes.
func numberOf(v []byte) (int64, bool) {
	if n, err := strconv.ParseInt(strings.TrimSpace(string(v)), 10, 64); err == nil {
		return n, true
	}
	return bigEndian(v)
}

// attempts reads how often a record was tried; 0 when that is not said.
func (r *reader) attempts(p place, name string) int {
	n, _ := r.number(p, name, mostAttempts)
	return int(n)
}

// bigEndian reads a number of a width that Java has. One byte has no sign.
func bigEndian(v []byte) (int64, bool) {
	switch len(v) {
	case 1:
		return int64(v[0]), true
	case 2:
		return int64(int16(binary.BigEndian.Uint16(v))), true //nolint:gosec // two's complement is meant
	case 4:
		return int64(int32(binary.BigEndian.Uint32(v))), true //nolint:gosec // two's complement is meant
	case 8:
		return int64(binary.BigEndian.Uint64(v)), true //nolint:gosec // two's complement is meant
	default:
		return 0, false
	}
}

// millis reads a time in milliseconds since 1970. Java's BigInteger, which Spring writes, has as few bytes as hold the number.
func (r *reader) millis(p place, name string) time.Time {
	v, ok := r.at(p, name)
	if !ok {
		return time.Time{}
	}
	n, ok := numberOf(widened(v))
	if !ok || n < 0 || n > mostMillis {
		r.problem(name, "%q is no time in milliseconds since 1970", short(v))
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

// widened gives a big-endian number of fewer than 8 bytes all of them, with its sign. Digits stay as they are.
func widened(v []byte) []byte {
	if len(v) == 0 || len(v) >= 8 || bytes.IndexFunc(v, notDigit) < 0 {
		return v
	}
	out := make([]byte, 8)
	if v[0] >= 0x80 {
		out = bytes.Repeat([]byte{0xff}, 8)
	}
	copy(out[8-len(v):], v)
	return out
}

func notDigit(c rune) bool { return c < '0' || c > '9' }

// short is a value for a message to people.
func short(v []byte) string {
	const most = 40
	s := strings.ToValidUTF8(string(v), "\uFFFD")
	for i := range s {
		if i > most {
			return s[:i] + "…"
		}
	}
	return s
}

// topicName is a text that can be the name of a topic, or "".
func topicName(s string) string {
	if len(s) > 249 || strings.ContainsFunc(s, notOfTopic) {
		return ""
	}
	return s
}

// notOfTopic reports whether a rune cannot stand in the name of a topic.
func notOfTopic(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && notDigit(c) && c != '.' && c != '_' && c != '-'
}

// NumberIn returns the number in a header that the framework of some dialect writes in binary form, and whether it is one: a position, a time
// or a count of attempts.
func NumberIn(h kgo.RecordHeader) (n int64, ok bool) {
	if !OfAny(h.Key) || !slices.ContainsFunc([]string{"partition", "offset", "timestamp", "attempts", "Attempt"}, func(word string) bool { return strings.HasSuffix(h.Key, word) }) {
		return 0, false
	}
	if len(h.Value) == 0 || bytes.IndexFunc(h.Value, notDigit) < 0 {
		return 0, false // text shows itself
	}
	value := h.Value
	if strings.HasSuffix(h.Key, "timestamp") {
		value = widened(value) // of a BigInteger
	}
	return bigEndian(value)
}
