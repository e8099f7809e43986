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

// maxPartition is above every real partition number. Four digits of text, read as a binary number, are far above it.
const maxPartition = 1_000_000

// maxText bounds the bytes that are read from a header. Stack traces and messages can be long.
const maxText = 4096

const (
	maxClass    = 512  // maximum bytes of a class name that is read out of a longer text
	maxCausedBy = 1024 // maximum bytes that are read of a cause
	triedCauses = 16   // maximum number of causes, from the end of a stack trace, that are searched for a class
)

// bag has the headers of one record, in order and with repetitions.
type bag []kgo.RecordHeader

// place selects the first or the last of repeated headers.
type place bool

const (
	first place = false
	last  place = true
)

// index returns the position of the first or the last header with a name, or -1.
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

// at returns the value of the first or the last header with a name.
func (b bag) at(p place, name string) ([]byte, bool) {
	if i := b.index(p, name); i >= 0 {
		return b[i].Value, true
	}
	return nil, false
}

// reader reads the headers of one dead letter and collects the values that it does not understand.
type reader struct {
	bag
	problems []string
}

func (r *reader) problem(name, format string, args ...any) {
	r.problems = append(r.problems, "header "+name+": "+fmt.Sprintf(format, args...))
}

// text returns a header as UTF-8, or "" if the header is absent.
func (r *reader) text(p place, name string) string {
	v, _ := r.at(p, name)
	if len(v) > maxText {
		v = v[:maxText]
	}
	return strings.ToValidUTF8(string(v), "\uFFFD")
}

// rootCause returns the class of the innermost cause in the newest Java stack trace, and the first line of that cause,
// which begins with the class. Both are "" if the exception has no cause. rootCause ignores the causes of suppressed
// exceptions, which Java indents.
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

// cause returns the class at the start of text, and the first line of text. Both are "" if text does not start with a
// class.
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

// notOfClass reports whether a rune is invalid in the full name of a Java class.
func notOfClass(c rune) bool {
	return c == utf8.RuneError || c != '.' && c != '$' && c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
}

// These constants are upper bounds of the numbers in headers.
const (
	mostOffset   = 1 << 60 // eight digits of text, read as a binary number, are above it
	mostAttempts = math.MaxInt32
	mostMillis   = 253402300799999 // the end of the year 9999
)

// number reads a whole number from 0 to most. It accepts text and big-endian numbers of 1, 2, 4 or 8 bytes, because
// another program may have converted a header that it passed on. It reads digits as text. As a binary number, digits
// would be larger than the numbers that frameworks write in that width.
func (r *reader) number(p place, name string, most int64) (int64, bool) {
	v, ok := r.at(p, name)
	if !ok {
		return 0, false
	}
	n, ok := numberOf(v)
	if !ok || n < 0 || n > most {
		r.problem(name, "%q is not a whole number from 0 to %d, neither as text nor in 1, 2, 4 or 8 bytes", short(v), most)
		return 0, false
	}
	return n, true
}

// numberOf reads a number as text, or else as a binary number.
func numberOf(v []byte) (int64, bool) {
	if n, err := strconv.ParseInt(strings.TrimSpace(string(v)), 10, 64); err == nil {
		return n, true
	}
	return bigEndian(v)
}

// attempts returns the number of attempts, or 0 if it is unknown.
func (r *reader) attempts(p place, name string) int {
	n, _ := r.number(p, name, mostAttempts)
	return int(n)
}

// bigEndian reads a number in one of the widths of Java. One byte is unsigned.
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

// millis reads a time in milliseconds since 1970. Spring writes Java's BigInteger, which has only as many bytes as the
// number needs.
func (r *reader) millis(p place, name string) time.Time {
	v, ok := r.at(p, name)
	if !ok {
		return time.Time{}
	}
	n, ok := numberOf(widened(v))
	if !ok || n < 0 || n > mostMillis {
		r.problem(name, "%q is not a time in milliseconds since 1970", short(v))
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

// widened extends a big-endian number of fewer than 8 bytes to 8 bytes and keeps its sign. It returns digits unchanged.
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

// short returns a value in a shortened form for messages.
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

// topicName returns s if it is a valid topic name, or "".
func topicName(s string) string {
	if len(s) > 249 || strings.ContainsFunc(s, notOfTopic) {
		return ""
	}
	return s
}

// notOfTopic reports whether a rune is invalid in a topic name.
func notOfTopic(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && notDigit(c) && c != '.' && c != '_' && c != '-'
}

// NumberIn returns the number in a header that some framework writes in binary: a position, a time or a count of
// attempts. It reports false for any other header, and for text.
func NumberIn(h kgo.RecordHeader) (n int64, ok bool) {
	if !OfAny(h.Key) || !slices.ContainsFunc([]string{"partition", "offset", "timestamp", "attempts", "Attempt"}, func(word string) bool { return strings.HasSuffix(h.Key, word) }) {
		return 0, false
	}
	if len(h.Value) == 0 || bytes.IndexFunc(h.Value, notDigit) < 0 {
		return 0, false // a number as text is readable unchanged
	}
	value := h.Value
	if strings.HasSuffix(h.Key, "timestamp") {
		value = widened(value) // a BigInteger may have fewer bytes
	}
	return bigEndian(value)
}
