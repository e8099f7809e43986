package patch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// mergeOperations returns the JSON Patch that has the effect of a Merge Patch on a document (RFC 7396, section 2).
// The library's own merge would rewrite the whole document and add unneeded escapes.
func mergeOperations(doc, merge json.RawMessage) ([]byte, error) {
	var ops []map[string]json.RawMessage
	target, isObject := object(doc)
	if !isObject {
		return nil, fmt.Errorf("%w: a Merge Patch needs a JSON object, and the value is not one", ErrEdit)
	}
	patch, _ := object(merge)
	mergeInto(&ops, "", target, patch)
	if len(ops) == 0 {
		return nil, nil
	}
	return marshal(ops)
}

func mergeInto(ops *[]map[string]json.RawMessage, path string, target, patch map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		at := string(jsontext.Pointer(path).AppendToken(name))
		value, before := patch[name], target[name]
		members, isObject := object(value)
		beforeMembers, wasObject := object(before)
		switch {
		case isNull(value) && before != nil:
			*ops = append(*ops, map[string]json.RawMessage{"op": quoted("remove"), "path": quoted(at)})
		case isNull(value):
		case isObject && wasObject:
			mergeInto(ops, at, beforeMembers, members)
		case isObject:
			*ops = append(*ops, add(at, withoutNulls(members)))
		default:
			*ops = append(*ops, add(at, value))
		}
	}
}

func add(path string, value json.RawMessage) map[string]json.RawMessage {
	return map[string]json.RawMessage{"op": quoted("add"), "path": quoted(path), "value": value}
}

// withoutNulls returns a new object of a Merge Patch without its null members, since null means "absent".
func withoutNulls(members map[string]json.RawMessage) json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, value := range members {
		if isNull(value) {
			continue
		}
		if inner, ok := object(value); ok {
			value = withoutNulls(inner)
		}
		out[name] = value
	}
	text, err := marshal(out)
	if err != nil {
		panic(fmt.Sprintf("patch: encode valid JSON: %v", err))
	}
	return text
}

func object(text json.RawMessage) (map[string]json.RawMessage, bool) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, false
	}
	var members map[string]json.RawMessage
	return members, json.Unmarshal(text, &members) == nil
}

func isNull(text json.RawMessage) bool { return string(bytes.TrimSpace(text)) == "null" }

func quoted(text string) json.RawMessage {
	out, err := marshal(text)
	if err != nil {
		panic(fmt.Sprintf("patch: encode a text: %v", err))
	}
	return out
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEdit, err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
