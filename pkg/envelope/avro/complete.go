package avro

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Complete converts JSON into Avro's JSON encoding of the schema. It adds the defaults of missing fields. It wraps a
// union value in the name of its branch if only one branch can hold the value. It leaves every other value unchanged,
// and [Schema.AppendText] refuses the invalid ones.
func (s *Schema) Complete(text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	err := d.Decode(&value)
	if err == nil {
		if _, behind := d.Token(); behind != io.EOF {
			err = fmt.Errorf("data follows the value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s from JSON: %w", s.Name(), err)
	}
	out, err := json.Marshal(s.root.complete(value, 0))
	if err != nil {
		return nil, fmt.Errorf("write %s as JSON: %w", s.Name(), err)
	}
	return out, nil
}

// complete changes a value in place and returns it. The depth limit stops a record whose default contains the record
// itself.
func (n *node) complete(value any, depth int) any {
	if depth++; depth > maxSchemaDepth {
		return value
	}
	switch n.kind {
	case kindRecord:
		if object, ok := value.(map[string]any); ok {
			n.completeFields(object, depth)
		}
	case kindArray:
		if list, ok := value.([]any); ok {
			for i := range list {
				list[i] = n.items.complete(list[i], depth)
			}
		}
	case kindMap:
		if object, ok := value.(map[string]any); ok {
			for name := range object {
				object[name] = n.items.complete(object[name], depth)
			}
		}
	case kindUnion:
		return n.completeUnion(value, depth)
	default:
	}
	return value
}

func (n *node) completeFields(object map[string]any, depth int) {
	for _, f := range n.fields {
		value, has := object[f.name]
		if !has && f.fallback == nil {
			continue
		}
		of := f.node
		if !has {
			d := json.NewDecoder(bytes.NewReader(f.fallback))
			d.UseNumber()
			if d.Decode(&value) != nil {
				continue // cannot happen in a parsed schema
			}
			if of.kind == kindUnion && len(of.branches) > 0 { // a default belongs to the first branch
				object[f.name] = of.branches[0].named(of.branches[0].complete(value, depth))
				continue
			}
		}
		object[f.name] = of.complete(value, depth)
	}
}

// completeUnion wraps the value in the name of its branch, unless the value already has a branch name.
func (n *node) completeUnion(value any, depth int) any {
	if object, ok := value.(map[string]any); ok && len(object) == 1 {
		for _, b := range n.branches {
			if inner, named := object[b.word()]; named {
				object[b.word()] = b.complete(inner, depth)
				return object
			}
		}
	}
	var only *node
	for _, b := range n.branches {
		switch {
		case !b.holds(value):
		case only != nil:
			return value
		default:
			only = b
		}
	}
	if only == nil {
		return value
	}
	return only.named(only.complete(value, depth))
}

// named returns a value in the JSON encoding of a union: wrapped in the name of this branch, or null.
func (n *node) named(value any) any {
	if n.kind == kindNull {
		return nil
	}
	return map[string]any{n.word(): value}
}

// holds reports whether the type can hold a JSON value. It compares only the kinds.
func (n *node) holds(value any) bool {
	switch value.(type) {
	case nil:
		return n.kind == kindNull
	case bool:
		return n.kind == kindBoolean
	case json.Number:
		return n.kind == kindInt || n.kind == kindLong || n.kind == kindFloat || n.kind == kindDouble
	case string:
		return n.kind == kindString || n.kind == kindBytes || n.kind == kindEnum || n.kind == kindFixed
	case []any:
		return n.kind == kindArray
	default:
		return n.kind == kindRecord || n.kind == kindMap
	}
}
