package enrich

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// pointer is a JSON pointer (RFC 6901), cut into its reference tokens.
type pointer struct {
	text   string
	tokens []string
}

// String gives the pointer as it was written; that to the whole answer in words.
func (p pointer) String() string {
	if p.text == "" {
		return "value"
	}
	return p.text
}

// parsePointer reads "/places/0/name"; "" is the whole document. In a token ~1 is a slash and ~0 a tilde.
func parsePointer(text string) (pointer, error) {
	p := pointer{text: text}
	if text == "" {
		return p, nil
	}
	if text[0] != '/' {
		return p, fmt.Errorf("%q is not a JSON pointer; begin it with /, as in /name", text)
	}
	if !jsontext.Pointer(text).IsValid() {
		return p, fmt.Errorf("%q is not a JSON pointer; write ~0 for ~ and ~1 for / in a name", text)
	}
	p.tokens = slices.Collect(jsontext.Pointer(text).Tokens())
	return p, nil
}

// in gives the value that the pointer leads to.
func (p pointer) in(value transform.Value) (transform.Value, bool) {
	for _, token := range p.tokens {
		next, ok := child(value, token)
		if !ok {
			return transform.Value{}, false
		}
		value = next
	}
	return value, true
}

func child(value transform.Value, token string) (transform.Value, bool) {
	switch value.Kind() {
	case transform.KindObject:
		for _, member := range value.Members() {
			if member.Name == token {
				return member.Value, true
			}
		}
	case transform.KindArray:
		index, err := strconv.Atoi(token)
		if err == nil && strconv.Itoa(index) == token && 0 <= index && index < len(value.Items()) { // no sign, no leading zero
			return value.Items()[index], true
		}
	default:
	}
	return transform.Value{}, false
}
