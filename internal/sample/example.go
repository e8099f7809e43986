package sample

import (
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// example is the first value of a kind that one rule, or none, would read as a day or a time.
type example struct {
	kind counted // one of them is 1
	rule string
	text string
}

// look notes what a value looks like. f.kinds has counted it already.
func (f *field) look(v transform.Value, rule string) {
	f.looks[rule]++
	var own field
	own.count(v)
	for _, e := range f.examples {
		if e.kind == own.kinds && e.rule == rule {
			return
		}
	}
	text := strings.ToValidUTF8(string(v.AppendJSON(nil)), "�")
	if r := []rune(text); len(r) > maxExample {
		text = string(r[:maxExample]) + "…"
	}
	f.examples = append(f.examples, example{own.kinds, rule, strings.ReplaceAll(comment(text), `\"`, `"`)})
}

const maxExample = 40 // characters of a value in a comment

// looksLike returns the rule that more than half of the values look like, "" for none, and a value that does not.
func (f *field) looksLike() (rule string, others int, example string) {
	for name, n := range f.looks {
		if name != "" && 2*n > f.present {
			rule, others = name, f.present-n
		}
	}
	for _, e := range f.examples {
		if e.rule != rule {
			return rule, others, e.text
		}
	}
	return rule, others, ""
}

// unlike returns the first value that is not of a type.
func (f *field) unlike(t transform.Type) string {
	for _, e := range f.examples {
		if e.kind.of(t) == 0 {
			return e.text
		}
	}
	return ""
}
