package sample

import (
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// look is the form of a value: a day or a time that one rule would read, a number, or neither.
type look struct {
	rule    string
	written written
}

func lookOf(v transform.Value) look {
	if v.Kind() == transform.KindNumber { // a rule's thousands and decimal are about texts
		return look{looksLike(v.Text(), true), written{number: true}}
	}
	if rule := looksLike(v.Text(), false); rule != "" {
		return look{rule: rule}
	}
	return look{written: readWritten(v.Text())}
}

// example is the first value of a kind with a form.
type example struct {
	kind counted // one of the counts is 1
	look look
	text string
}

// look counts the form of a value. f.kinds has counted the value already.
func (f *field) look(v transform.Value, what look) {
	f.looks[what]++
	var own field
	own.count(v)
	for _, e := range f.examples {
		if e.kind == own.kinds && e.look == what {
			return
		}
	}
	text := strings.ToValidUTF8(string(v.AppendJSON(nil)), "�")
	if r := []rune(text); len(r) > maxExample {
		text = string(r[:maxExample]) + "…"
	}
	f.examples = append(f.examples, example{own.kinds, what, strings.ReplaceAll(comment(text), `\"`, `"`)})
}

const maxExample = 40 // characters of a value in a comment

// looksLike returns the rule that would read more than half of the values, "" for none, and a value that it would not
// read.
func (f *field) looksLike() (rule string, others int, example string) {
	reads := func(l look) bool { return l.rule == rule }
	for l, n := range f.looks {
		if l.rule != "" && 2*n > f.present {
			rule = l.rule
		}
	}
	if rule == "" {
		rule, reads = numberRule(f.looks)
	}
	for l, n := range f.looks {
		if !reads(l) {
			others += n
		}
	}
	if 2*others >= f.present {
		return "", 0, ""
	}
	for _, e := range f.examples {
		if !reads(e.look) {
			return rule, others, e.text
		}
	}
	return rule, 0, ""
}

// unlike returns the first value of another type.
func (f *field) unlike(t transform.Type) string {
	for _, e := range f.examples {
		if e.kind.of(t) == 0 {
			return e.text
		}
	}
	return ""
}
