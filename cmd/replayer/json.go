package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/switchback-geo/switchback/internal/cli"
)

// emitter writes JSON values: one per line (ndjson), or as one list (json).
type emitter struct {
	w     io.Writer
	list  bool
	count int
}

func (a *app) emitter() *emitter { return &emitter{w: a.env.Out, list: a.output == "json"} }

func (e *emitter) emit(v any) error {
	text, err := cli.EncodeJSON(v, "")
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

// end closes the list. It returns none if there were no values.
func (e *emitter) end(none error) error {
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

// answer writes a value as JSON, or its text if the output is a table.
func (a *app) answer(v any, text string) error {
	if a.output != "table" {
		return a.object(v)
	}
	return a.print(text)
}

// figures is text with one named value per line.
type figures struct{ strings.Builder }

func (f *figures) line(name, format string, args ...any) {
	fmt.Fprintf(f, "%-14s "+format+"\n", append([]any{name}, args...)...)
}

// print writes text to the standard output.
func (a *app) print(text string) error {
	_, err := io.WriteString(a.env.Out, text)
	return err
}

// object writes one value: on one line for ndjson, indented for json.
func (a *app) object(v any) error { return cli.WriteJSON(a.env.Out, v, a.output == "json") }

// maxIndent is the deepest level of JSON that is indented.
const maxIndent = 40

// spread indents compact JSON: each member of an object is on its own line, but each list is on one line. Otherwise the ring of a polygon
// would fill the screen with numbers.
func spread(compact string) string {
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
