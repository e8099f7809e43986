package transform

import (
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A record of the common shape is read in one pass, directly from its bytes. Any other record, and every record with
// a fault, is read again token by token, and only that reading reports faults and their places. Therefore the quick
// way may give up anywhere, but the careful way must accept every record that it accepts.

const (
	// quickDepth is how deep the quick way follows objects and arrays.
	quickDepth = 32
	// quickMembers is how many members an object may have on the quick way, because each name is compared with the
	// previous ones.
	quickMembers = 64
	// quickNumber is how many bytes a number may have on the quick way, because any double has that many digits before
	// its point.
	quickNumber = 100
)

// quick reads a text. It returns nil if the text does not have the common shape.
func (d *decoder) quick() *Feature {
	if min(d.limits.MaxLiteralBytes, d.limits.MaxNumberBytes) < quickNumber {
		return nil
	}
	q := quickScan{decoder: d, cursor: cursor{src: d.src}, depth: min(d.limits.MaxDepth, quickDepth)}
	f := new(Feature)
	if q.feature(f) && q.next() == 0 && q.at == len(q.src) {
		return f
	}
	d.items.drop()
	d.members.drop()
	d.names = d.names[:0]
	return nil
}

// cursor is a position in the text of a record.
type cursor struct {
	src []byte
	at  int
}

// next returns the next byte that is not white space; 0 at the end.
func (c *cursor) next() byte {
	for ; c.at < len(c.src); c.at++ {
		if b := c.src[c.at]; b > ' ' || b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b
		}
	}
	return 0
}

// take skips one byte if it is the next one.
func (c *cursor) take(b byte) bool {
	if c.next() != b {
		return false
	}
	c.at++
	return true
}

// quickScan reads a Feature of the common shape.
type quickScan struct {
	*decoder
	cursor
	depth int    // levels that are left
	own   string // our copy of a part of src, which the feature's strings share
	from  int    // where that part begins
}

// keep copies the next part of the text, which the feature keeps.
func (q *quickScan) keep(end int) { q.own, q.from = string(q.src[q.at:end]), q.at }

// cut returns a part of that copy.
func (q *quickScan) cut(begin, end int) string { return q.own[begin-q.from : end-q.from] }

// open skips an opening bracket if the depth limit allows it.
func (q *quickScan) open(c byte) bool {
	q.depth--
	return q.depth >= 0 && q.take(c)
}

// more skips what precedes an element, and reports whether there is one or the closing bracket. ok is false for anything
// else.
func (q *quickScan) more(closing byte, first bool) (more, ok bool) {
	switch c := q.next(); {
	case c == closing:
		q.at++
		q.depth++
		return false, true
	case first:
		return true, true
	case c == ',':
		q.at++
		return true, q.next() != closing
	}
	return false, false
}

// inString reports whether a byte stands for itself in a string and is ASCII.
func inString(c byte) bool {
	const low, high = uint64(0xffffffff) << 32 &^ (1 << '"'), ^uint64(0) &^ (1 << ('\\' - 64))
	return c < 64 && low>>(c&63)&1 != 0 || c-64 < 64 && high>>(c&63)&1 != 0
}

// str reads a string.
func (q *quickScan) str() (string, bool) {
	if q.next() != '"' {
		return "", false
	}
	begin := q.at + 1
	end := begin
	for end < len(q.src) && inString(q.src[end]) {
		end++
	}
	if end == len(q.src) {
		return "", false
	}
	if q.src[end] != '"' {
		return q.unusual(begin, end)
	}
	q.at = end + 1
	return q.cut(begin, end), end+1-(begin-1) <= q.limits.MaxLiteralBytes
}

// unusual reads a string with escapes or non-ASCII characters, from the first of them on.
func (q *quickScan) unusual(begin, end int) (string, bool) {
	escaped := false
	for ; end < len(q.src) && q.src[end] != '"'; end++ {
		if q.src[end] == '\\' {
			escaped = true
			end++
		} else if q.src[end] < ' ' {
			return "", false
		}
	}
	if end >= len(q.src) || end+1-(begin-1) > q.limits.MaxLiteralBytes {
		return "", false
	}
	q.at = end + 1
	if !escaped {
		return q.cut(begin, end), utf8.Valid(q.src[begin:end])
	}
	unquoted, err := jsontext.AppendUnquote(nil, q.src[begin-1:end+1])
	return string(unquoted), err == nil
}

// number skips a number without exponent.
func (q *quickScan) number() bool {
	rest := q.src[q.at:]
	n := 0
	if n < len(rest) && rest[n] == '-' {
		n++
	}
	whole := n
	for n < len(rest) && rest[n]-'0' <= 9 {
		n++
	}
	if n == whole || n > whole+1 && rest[whole] == '0' {
		return false
	}
	if n < len(rest) && rest[n] == '.' {
		point := n
		for n++; n < len(rest) && rest[n]-'0' <= 9; n++ {
		}
		if n == point+1 {
			return false
		}
	}
	q.at += n
	return n <= quickNumber && (n == len(rest) || rest[n]|0x20 != 'e')
}

// word reads true, false or null.
func (q *quickScan) word(word string) bool {
	if end := q.at + len(word); end <= len(q.src) && string(q.src[q.at:end]) == word {
		q.at = end
		return true
	}
	return false
}

// value reads any value.
func (q *quickScan) value() (v Value, ok bool) {
	switch v.token = q.next(); v.token {
	case '"':
		v.text, ok = q.str()
	case '{':
		v.container = new(container)
		v.container.members, ok = q.object()
	case '[':
		v.container = new(container)
		v.container.items, ok = q.array()
	case 't':
		ok = q.word("true")
	case 'f':
		ok = q.word("false")
	case 'n':
		ok = q.word("null")
	default:
		v.token = '0'
		begin := q.at
		if ok = q.number(); ok {
			v.text = q.cut(begin, q.at)
		}
	}
	return v, ok
}

// array reads an array.
func (q *quickScan) array() ([]Value, bool) {
	if !q.open('[') {
		return nil, false
	}
	begin := q.items.size
	for first := true; ; first = false {
		more, ok := q.more(']', first)
		if !ok {
			return nil, false
		}
		if !more {
			return q.items.take(begin), true
		}
		item, ok := q.value()
		if !ok {
			return nil, false
		}
		q.items.push(item)
	}
}

// object reads an object.
func (q *quickScan) object() ([]Member, bool) {
	if !q.open('{') {
		return nil, false
	}
	begin, names := q.members.size, len(q.names)
	for first := true; ; first = false {
		more, ok := q.more('}', first)
		if !ok {
			return nil, false
		}
		if !more {
			q.names = q.names[:names]
			return q.members.take(begin), true
		}
		member, ok := q.member(names)
		if !ok {
			return nil, false
		}
		q.members.push(member)
	}
}

// member reads a member of an object. The names of the object begin at index names of all names.
func (q *quickScan) member(names int) (m Member, ok bool) {
	if m.Name, ok = q.name(names); ok {
		m.Value, ok = q.value()
	}
	return m, ok
}

// name reads the name of a member and the colon. It refuses a name that the object already has; the object's names begin
// at index begin of all names.
func (q *quickScan) name(begin int) (string, bool) {
	name, ok := q.str()
	if !ok || !q.take(':') || len(q.names)-begin == quickMembers || slices.Contains(q.names[begin:], name) {
		return "", false
	}
	q.names = append(q.names, name)
	return name, true
}
