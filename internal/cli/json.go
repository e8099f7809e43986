package cli

import (
	"cmp"
	"io"
	"strings"
)

// Emitter writes JSON values: one per line (ndjson), or as one list (json).
type Emitter struct {
	w     io.Writer
	list  bool
	count int
}

// NewEmitter returns an emitter that writes one list, or one value per line.
func NewEmitter(to io.Writer, list bool) *Emitter { return &Emitter{w: to, list: list} }

// Emit writes one value.
func (e *Emitter) Emit(v any) error {
	text, err := EncodeJSON(v, "")
	if err != nil {
		return err
	}
	before, after := "", "\n"
	if e.list {
		before, after = "[\n", ""
		if e.count > 0 {
			before = ",\n"
		}
	}
	e.count++
	_, err = io.WriteString(e.w, before+text+after)
	return err
}

// End closes the list. It returns none if there were no values.
func (e *Emitter) End(none error) error {
	text, ending := "\n]\n", error(nil)
	if e.count == 0 {
		text, ending = "[]\n", none
	}
	if !e.list {
		return ending
	}
	_, err := io.WriteString(e.w, text)
	return cmp.Or(err, ending)
}

// maxIndent is the deepest level of JSON that is indented.
const maxIndent = 40

// IndentJSON indents compact JSON: each member of an object is on its own line, but each list is on one line. Otherwise
// the ring of a polygon would fill the screen with numbers.
func IndentJSON(compact string) string {
	var b strings.Builder
	depth, lists, quoted := 0, 0, false
	newLine := func() { b.WriteString("\n" + strings.Repeat("  ", min(depth, maxIndent))) }
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		switch {
		case quoted && c == '\\':
			b.WriteByte(c)
			i++
			c = compact[i]
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			lists++
		case c == ']':
			lists--
		case lists > 0:
		case c == '{' && compact[i+1] != '}':
			b.WriteByte(c)
			depth++
			newLine()
			continue
		case c == '}' && compact[i-1] != '{':
			depth--
			newLine()
		case c == ',':
			b.WriteByte(c)
			newLine()
			continue
		case c == ':':
			b.WriteString(": ")
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
