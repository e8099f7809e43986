package main

import (
	"io"

	"github.com/switchback-geo/switchback/internal/cli"
)

// emitter writes JSON values: one after another on lines (ndjson), or as one list (json).
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

// end closes the list.
func (e *emitter) end() error {
	if !e.list {
		return nil
	}
	text := "\n]\n"
	if e.count == 0 {
		text = "[]\n"
	}
	_, err := io.WriteString(e.w, text)
	return err
}

// object writes one value: on one line for ndjson, indented for json.
func (a *app) object(v any) error {
	indent := ""
	if a.output == "json" {
		indent = "  "
	}
	text, err := cli.EncodeJSON(v, indent)
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.env.Out, text+"\n")
	return err
}
