package enrich

import (
	"cmp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// pointer is a JSON pointer (RFC 6901), such as /places/0/name. The configuration refuses what is none.
type pointer jsontext.Pointer

// String returns the pointer as it was written; that to the whole answer in words.
func (p pointer) String() string { return cmp.Or(string(p), "value") }

// in returns the value that the pointer leads to.
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
