package audit

import (
	"hash"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Object is a JSON object that is written member by member, each in the form of RFC 8785. Its canonical form has the
// same members in another order, so an entry that is an Object is chained without being parsed again (see
// [Link.NextOf]).
//
// A name consists of letters, digits and underscores, and occurs once. The zero Object is empty.
type Object struct {
	text    []byte   // from the opening brace, without the closing one
	members []member // in any order
}

// member is the position of a member in the text, without commas.
type member struct {
	name     string
	from, to int
}

// usualMembers and usualBytes are enough for most entries.
const (
	usualMembers = 24
	usualBytes   = 1024
)

func (o *Object) begin(name string) {
	if o.text == nil {
		o.text, o.members = append(make([]byte, 0, usualBytes), '{'), make([]member, 0, usualMembers)
	}
	if len(o.members) > 0 {
		o.text = append(o.text, ',')
	}
	o.members = append(o.members, member{name: name, from: len(o.text)})
	o.text = append(append(append(o.text, '"'), name...), '"', ':')
}

// end ends the current member; nothing was sorted since it began.
func (o *Object) end() { o.members[len(o.members)-1].to = len(o.text) }

// Text writes a member. Invalid UTF-8 becomes U+FFFD.
func (o *Object) Text(name, value string) {
	o.begin(name)
	o.quote(value)
	o.end()
}

// SomeText writes a member unless it is empty.
func (o *Object) SomeText(name, value string) {
	if value != "" {
		o.Text(name, value)
	}
}

// Number writes a member of at most 2^53, as RFC 8785 requires.
func (o *Object) Number(name string, value int64) {
	o.begin(name)
	o.text = strconv.AppendInt(o.text, value, 10)
	o.end()
}

// Place writes a member with the object's own place in its chain. The hash does not cover it, so it comes last.
func (o *Object) Place(name string, p Place) {
	l := p.Link
	o.begin(name)
	o.text = append(o.text, `{"of":`...)
	o.quote(string(p.Of))
	o.text = strconv.AppendInt(append(o.text, `,"seq":`...), l.Seq, 10)
	o.text = append(o.text, `,"prev":`...)
	o.quote(l.Prev)
	o.text = append(o.text, `,"hash":`...)
	o.quote(l.Hash)
	o.text = append(o.text, '}')
	o.end()
}

// quote writes a string as RFC 8785 requires.
func (o *Object) quote(value string) {
	o.text, _ = jsontext.AppendQuote(o.text, value) // the error only reports replaced characters
}

// JSON returns the object with its members in the order in which they were written. Nothing can be added after it.
func (o *Object) JSON() []byte {
	if o.text == nil {
		return []byte("{}")
	}
	return append(o.text, '}')
}

// writeCanonical writes the object in the form of RFC 8785: its members sorted by name.
func (o *Object) writeCanonical(to hash.Hash) {
	slices.SortFunc(o.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	marks := []byte("{,}")
	open, comma, end := marks[:1], marks[1:2], marks[2:]
	to.Write(open)
	for i, m := range o.members {
		if i > 0 {
			to.Write(comma)
		}
		to.Write(o.text[m.from:m.to])
	}
	to.Write(end)
}
