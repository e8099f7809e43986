package header

import (
	"strconv"
	"strings"
)

// MaxParts is how many parts a record can have that end each by itself: as many as the header of a rest names.
const MaxParts = 10_000

// Part names a part of a record, such as a feature of a collection. The zero value is the whole record.
type Part struct {
	Index int // from 0
	Of    int // parts of the record
}

// ParsePart reads what String writes: 17/230. ok is false for anything else.
func ParsePart(text string) (p Part, ok bool) {
	index, of, cut := strings.Cut(text, "/")
	i, err := strconv.ParseUint(index, 10, 31)
	n, wrong := strconv.ParseUint(of, 10, 31)
	if !cut || err != nil || wrong != nil || i >= n {
		return Part{}, false
	}
	return Part{int(i), int(n)}, true
}

// String gives 17/230, and nothing for a whole record.
func (p Part) String() string {
	if p.Whole() {
		return ""
	}
	return strconv.Itoa(p.Index) + "/" + strconv.Itoa(p.Of)
}

// Whole says that this is no part.
func (p Part) Whole() bool { return p.Of == 0 }

// DeadLetterID is the id of the dead letter of a part, of which whole is that of its record.
func (p Part) DeadLetterID(whole string) string { return whole + "-" + strconv.Itoa(p.Index) }

// setPart is setField for what is said of parts.
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
