package header

import (
	"strconv"
	"strings"
)

// MaxParts is the largest number of parts of a record that can finish separately, as many as the header of remaining
// parts can list.
const MaxParts = 10_000

// Part is a part of a record, such as a feature of a collection. The zero value is the whole record.
type Part struct {
	Index int // from 0
	Of    int // parts of the record
}

// ParsePart parses what String writes: 17/230. ok is false for anything else.
func ParsePart(text string) (p Part, ok bool) {
	index, of, cut := strings.Cut(text, "/")
	i, err := strconv.ParseUint(index, 10, 31)
	n, wrong := strconv.ParseUint(of, 10, 31)
	if !cut || err != nil || wrong != nil || i >= n {
		return Part{}, false
	}
	return Part{int(i), int(n)}, true
}

// String returns 17/230, or "" for a whole record.
func (p Part) String() string {
	if p.Whole() {
		return ""
	}
	return strconv.Itoa(p.Index) + "/" + strconv.Itoa(p.Of)
}

// Whole reports whether this is the whole record.
func (p Part) Whole() bool { return p.Of == 0 }

// DeadLetterID returns the ID of a part's dead letter; whole is that of its record.
func (p Part) DeadLetterID(whole string) string { return whole + "-" + strconv.Itoa(p.Index) }

// setPart is setField for headers about parts.
func setPart(field any, value string) (reason string) {
	switch f := field.(type) {
	case *Part:
		p, ok := ParsePart(value)
		if !ok {
			return "not index/parts"
		}
		*f = p
	case **int64:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return "not a whole number"
		}
		*f = &n
	case **Remaining:
		*f, reason = parseRemaining(value)
	}
	return reason
}
