package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/switchback-geo/switchback/internal/cli"
)

func (a *app) emitter() *cli.Emitter { return cli.NewEmitter(a.env.Out, a.output == "json") }

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
