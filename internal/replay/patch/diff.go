package patch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Change is one place at which two documents differ.
type Change struct {
	Path   string          `json:"path"` // JSON Pointer
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Diff lists where two JSON documents differ, in the order of their paths. Numbers differ when their digits do.
func Diff(before, after []byte) ([]Change, error) {
	for _, doc := range [][]byte{before, after} {
		if !json.Valid(doc) {
			return nil, fmt.Errorf("%w: what is to be compared is not JSON", ErrEdit)
		}
	}
	var out []Change
	diff(&out, "", before, after)
	return out, nil
}

func diff(out *[]Change, path string, before, after json.RawMessage) {
	a, aObject := object(before)
	b, bObject := object(after)
	if aObject && bObject {
		names := maps.Clone(a)
		maps.Copy(names, b)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			diff(out, path+step(name), a[name], b[name])
		}
		return
	}
	x, xArray := array(before)
	y, yArray := array(after)
	if xArray && yArray && len(x) == len(y) {
		for i := range x {
			diff(out, path+"/"+strconv.Itoa(i), x[i], y[i])
		}
		return
	}
	if before, after = compact(before), compact(after); !bytes.Equal(before, after) {
		*out = append(*out, Change{Path: path, Before: before, After: after})
	}
}

func array(text json.RawMessage) ([]json.RawMessage, bool) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '[' {
		return nil, false
	}
	var elements []json.RawMessage
	return elements, json.Unmarshal(text, &elements) == nil
}

func compact(text json.RawMessage) json.RawMessage {
	if text == nil {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}
