package transform

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
)

// reader walks the tokens of one JSON text once. It checks each limit on the token, before it builds the value. Strings
// without escapes share one copy of the text, so that most need no allocation.
type reader struct {
	decoder *jsontext.Decoder
	buffer  bytes.Buffer
	src     []byte // the caller's bytes, valid during the call only
	text    string // our copy, which the feature's strings share
	limits  Limits
	feature string // the feature's ID, once it was read

	items   stack[Value]  // of the open arrays
	members stack[Member] // of the open objects
	names   []string      // of the open objects, on the quick way
	usual   int           // number of properties of the previous feature
}

// receive sets src, of which no token is read yet.
func (r *reader) receive(src []byte, limits Limits) { r.src, r.limits, r.feature = src, limits, "" }

// tokens prepares r to read the tokens from the first one on.
func (r *reader) tokens() {
	r.text = string(r.src)
	r.buffer = *bytes.NewBuffer(r.src)
	if r.decoder == nil {
		r.decoder = jsontext.NewDecoder(&r.buffer)
	} else {
		r.decoder.Reset(&r.buffer)
	}
}

// release forgets the caller's bytes.
func (r *reader) release() {
	r.src, r.text, r.feature = nil, "", ""
	r.items.drop()
	r.members.drop()
	clear(r.names[:cap(r.names)])
	r.names = r.names[:0]
	if r.buffer = (bytes.Buffer{}); r.decoder != nil {
		r.decoder.Reset(&r.buffer)
	}
}

// offset returns the position after the last token.
func (r *reader) offset() int64 { return r.decoder.InputOffset() }

// peek returns the first byte of the next token ('0' for any number), or 0 if the text is broken there. The next read
// then returns the error.
func (r *reader) peek() byte { return byte(r.decoder.PeekKind()) }

// open reads the '{' or '[' that peek has returned.
func (r *reader) open() error {
	if r.decoder.StackDepth() >= r.limits.MaxDepth {
		if _, err := r.decoder.ReadToken(); err != nil {
			return r.syntax(err)
		}
		return r.fail(fault{code: classify.CodeTooDeep, rule: RuleDepth, start: r.offset() - 1,
			message: "objects and arrays are nested deeper than " + decimal(r.limits.MaxDepth) + " levels",
			fix:     "flatten the source, or raise limits.max_depth"})
	}
	return r.delimiter()
}

// delimiter reads an opening or closing bracket that peek has returned.
func (r *reader) delimiter() error {
	if _, err := r.decoder.ReadToken(); err != nil {
		return r.syntax(err)
	}
	return nil
}

// literal reads a string, number, true, false or null at [start, end) of the text.
func (r *reader) literal() (start, end int64, err error) {
	raw, err := r.decoder.ReadValue()
	if err != nil {
		return 0, 0, r.syntax(err)
	}
	end = r.offset()
	start = end - int64(len(raw))
	if len(raw) > r.limits.MaxLiteralBytes {
		return 0, 0, r.fail(fault{code: classify.CodeLimitExceeded, rule: RuleLiteralBytes, start: start, end: end,
			message: "a literal has " + decimal(len(raw)) + " bytes, more than " + decimal(r.limits.MaxLiteralBytes),
			fix:     "shorten it, or raise limits.max_literal_bytes"})
	}
	return start, end, nil
}

// str reads a string, or a member's name.
func (r *reader) str() (string, error) {
	start, end, err := r.literal()
	if err != nil {
		return "", err
	}
	return r.unquote(start, end)
}

// unquote returns the string at [start, end).
func (r *reader) unquote(start, end int64) (string, error) {
	if s := r.text[start+1 : end-1]; strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	unquoted, err := jsontext.AppendUnquote(nil, r.src[start:end])
	if err != nil { // the decoder has checked the string already
		return "", r.syntax(err)
	}
	return string(unquoted), nil
}

// number reads a number and returns it as written.
func (r *reader) number() (string, int64, error) {
	start, end, err := r.literal()
	if err != nil {
		return "", 0, err
	}
	if end-start > int64(r.limits.MaxNumberBytes) {
		return "", 0, r.fail(fault{code: classify.CodeLimitExceeded, rule: RuleNumberBytes, start: start, end: end,
			message: "a number has " + decimal(int(end-start)) + " bytes, more than " + decimal(r.limits.MaxNumberBytes),
			fix:     "shorten it, or raise limits.max_number_bytes"})
	}
	return r.text[start:end], start, nil
}

// value reads any value.
func (r *reader) value() (Value, error) {
	switch token := r.peek(); token {
	case '{':
		members, err := r.object()
		return Value{token: '{', container: &container{members: members}}, err
	case '[':
		items, err := r.array()
		return Value{token: '[', container: &container{items: items}}, err
	case '"':
		s, err := r.str()
		return Value{token: '"', text: s}, err
	case '0':
		literal, start, err := r.number()
		if err == nil && numbers.BeyondDouble(literal) {
			err = r.numberRange(start)
		}
		return Value{token: '0', text: literal}, err
	default:
		_, _, err := r.literal()
		return Value{token: token}, err
	}
}

// object reads an object.
func (r *reader) object() ([]Member, error) {
	if err := r.open(); err != nil {
		return nil, err
	}
	begin := r.members.size
	for r.peek() != '}' {
		name, err := r.str()
		if err != nil {
			return nil, err
		}
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		r.members.push(Member{name, value})
	}
	return r.members.take(begin), r.delimiter()
}

// array reads an array.
func (r *reader) array() ([]Value, error) {
	if err := r.open(); err != nil {
		return nil, err
	}
	begin := r.items.size
	for r.peek() != ']' {
		item, err := r.value()
		if err != nil {
			return nil, err
		}
		r.items.push(item)
	}
	return r.items.take(begin), r.delimiter()
}

// skip reads and checks any value without building it.
func (r *reader) skip() error {
	depth := r.decoder.StackDepth()
	for {
		var err error
		switch r.peek() {
		case '{', '[':
			err = r.open()
		case '}', ']':
			err = r.delimiter()
		default:
			_, _, err = r.literal()
		}
		if err != nil || r.decoder.StackDepth() <= depth {
			return err
		}
	}
}

// end checks that only white space follows the value.
func (r *reader) end() error {
	if r.decoder.PeekKind() == 0 {
		if _, err := r.decoder.ReadToken(); isEnd(err) {
			return nil
		}
	}
	start := r.offset() + int64(len(r.src)-int(r.offset())-len(bytes.TrimLeft(r.src[r.offset():], " \t\r\n")))
	return r.fail(fault{code: classify.CodeTrailingData, rule: RuleTrailingData, start: start, whole: true,
		message: "data follows the end of the JSON value",
		fix:     "send one value in a record"})
}
