package enrich

import (
	"cmp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// pointer is a JSON pointer (RFC 6901), such as /places/0/name. The configuration refuses an invalid one.
type pointer jsontext.Pointer

// String returns the pointer as written, or a word for the whole answer.
func (p pointer) String() string { return cmp.Or(string(p), "value") }

// in returns the value at the pointer.
func (p pointer) in(value transform.Value) (transform.Value, bool) {
	for token := range jsontext.Pointer(p).Tokens() {
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
