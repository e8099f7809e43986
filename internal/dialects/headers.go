package dialects

import (
	"bytes"
	"encoding/binary"
	"fmt"
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

// maxClass bounds the name of a class that is read out of a longer text.
const maxClass = 512

// bag is the headers of one record, in their order, with repetitions.
type bag []kgo.RecordHeader

func (b bag) has(name string) bool { _, ok := b.first(name); return ok }

// first gives the first value of a name.
func (b bag) first(name string) ([]byte, bool) {
	for _, h := range b {
		if h.Key == name {
			return h.Value, true
		}
	}
	return nil, false
}

// last gives the last value of a name.
func (b bag) last(name string) ([]byte, bool) {
	for _, h := range slices.Backward(b) {
		if h.Key == name {
			return h.Value, true
		}
	}
	return nil, false
}

// lastIndex gives where the last header of a name stands, or -1.
func (b bag) lastIndex(name string) int {
	for i, h := range slices.Backward(b) {
		if h.Key == name {
			return i
		}
	}
	return -1
}

// place says which of repeated headers counts.
type place bool

const (
	first place = false
	last  place = true
)

// at gives the first or the last value of a name.
func (b bag) at(p place, name string) ([]byte, bool) {
	if p == last {
		return b.last(name)
	}
	return b.first(name)
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

// rootCause reads the class of the innermost cause from a stack trace as Java prints it; "" when
// the exception has no cause.
func (r *reader) rootCause(p place, name string) string {
	trace, _ := r.at(p, name)
	var class string
	for line := range bytes.Lines(trace) {
		rest, ok := bytes.CutPrefix(line, []byte("Caused by: "))
		if !ok {
			continue
		}
		if end := bytes.IndexAny(rest, ":\r\n"); end >= 0 {
			rest = rest[:end]
		}
		if len(rest) <= maxClass && bytes.IndexFunc(rest, notOfClass) < 0 {
			class = string(rest)
		}
	}
	return class
}

// notOfClass reports whether a rune cannot stand in the full name of a Java class.
func notOfClass(c rune) bool {
	return c == utf8.RuneError || c != '.' && c != '$' && c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
}

// decimal reads a whole number from 0 that is written as text.
func (r *reader) decimal(p place, name string, bits int) (int64, bool) {
	v, ok := r.at(p, name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(v)), 10, bits)
	if err != nil || n < 0 {
		r.problem(name, "%q is not a whole number from 0", short(v))
		return 0, false
	}
	return n, true
}

// binary reads a number of exactly so many bytes, big endian (Java's ByteBuffer). Another width
// means that somebody else wrote it.
func (r *reader) binary(p place, name string, width int) (int64, bool) {
	v, ok := r.at(p, name)
	if !ok {
		return 0, false
	}
	if len(v) != width {
		r.problem(name, "it has %d bytes, not %d: other software wrote it (%q)", len(v), width, short(v))
		return 0, false
	}
	n := int64(int32(binary.BigEndian.Uint32(v[:4])))
	if width == 8 {
		n = int64(binary.BigEndian.Uint64(v))
	}
	if n < 0 {
		r.problem(name, "%d is below 0", n)
		return 0, false
	}
	return n, true
}

// bigInteger reads milliseconds as Java's BigInteger writes them: 1 to 8 bytes, big endian, two's
// complement.
func (r *reader) bigInteger(p place, name string) time.Time {
	v, ok := r.at(p, name)
	if !ok {
		return time.Time{}
	}
	if len(v) == 0 || len(v) > 8 {
		r.problem(name, "it has %d bytes, not 1 to 8", len(v))
		return time.Time{}
	}
	n := int64(int8(v[0]))
	for _, b := range v[1:] {
		n = n<<8 | int64(b)
	}
	return r.millis(name, n)
}

// millis makes a time of milliseconds since 1970, if it can be one.
func (r *reader) millis(name string, n int64) time.Time {
	const year9999 = 253402300800000
	if n < 0 || n >= year9999 {
		r.problem(name, "%d is no time in milliseconds since 1970", n)
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

// partition takes a number that was read for a partition.
func (r *reader) partition(name string, n int64, ok bool) (int32, bool) {
	if ok && n > maxPartition {
		r.problem(name, "%d is no partition: is it text instead of a binary number?", n)
		return 0, false
	}
	return int32(n), ok
}

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
	if len(s) > 249 || !utf8.ValidString(s) {
		return ""
	}
	return s
}
