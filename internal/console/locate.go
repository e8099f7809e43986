package console

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/internal/access"
)

// locate finds the bytes of the value at an RFC 6901 path in a JSON text.
func locate(text []byte, path string) (from, to int, found bool) {
	if !strings.HasPrefix(path, "/") {
		return 0, 0, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	for _, name := range access.PathMembers(path) {
		if !enter(d, name) {
			return 0, 0, false
		}
	}
	from = int(d.InputOffset())
	for from < len(text) && strings.IndexByte(" \t\r\n:,", text[from]) >= 0 {
		from++
	}
	var value json.RawMessage
	if d.Decode(&value) != nil {
		return 0, 0, false
	}
	return from, from + len(value), true
}

// enter reads up to the value of a member or an element of what comes next.
func enter(d *json.Decoder, name string) bool {
	open, err := d.Token()
	if err != nil {
		return false
	}
	var passed json.RawMessage
	switch open {
	case json.Delim('{'):
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return false
			}
			if key == name {
				return true
			}
			if d.Decode(&passed) != nil {
				return false
			}
		}
	case json.Delim('['):
		n, err := strconv.Atoi(name)
		for ; err == nil && d.More(); n-- {
			if n == 0 {
				return true
			}
			err = d.Decode(&passed)
		}
	}
	return false
}
