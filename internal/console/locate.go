package console

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// locate finds the bytes of the value at an RFC 6901 path in a JSON text.
func locate(text []byte, path string) (from, to int, found bool) {
	place := jsontext.Pointer(path)
	if path == "" || !place.IsValid() {
		return 0, 0, false
	}
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for member := range place.Tokens() {
		if !enter(d, member) {
			return 0, 0, false
		}
	}
	value, err := d.ReadValue()
	to = int(d.InputOffset())
	return to - len(value), to, err == nil
}

// enter reads up to the value of a member or an element.
func enter(d *jsontext.Decoder, member string) bool {
	kind := d.PeekKind()
	_, err := d.ReadToken()
	for n := 0; err == nil && (kind == '{' && d.PeekKind() != '}' || kind == '[' && d.PeekKind() != ']'); n++ {
		name := strconv.Itoa(n)
		if kind == '{' {
			var token jsontext.Token
			token, err = d.ReadToken()
			name = token.String()
		}
		if err == nil && name == member {
			return true
		}
		err = d.SkipValue()
	}
	return false
}
