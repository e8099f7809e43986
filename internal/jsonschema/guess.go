package jsonschema

import (
	"encoding/json"
	"maps"
	"slices"
)

// Guess is the shape that some values have in common: the types at each path, and the fields that none of them lacks.
type Guess struct{ root shape }

// These limits bound the distinctions within one value. Beyond them, anything is allowed.
const (
	maxGuessDepth  = 16
	maxGuessFields = 200 // of one object: one with more is a map
)

type shape struct {
	types   map[string]bool
	objects int // among the values at this path
	fields  map[string]*shape
	present map[string]int // objects that have the field
	items   *shape
}

// Add adds a value. It reports false if the value is not JSON.
func (g *Guess) Add(value []byte) bool {
	parsed, err := parse(value)
	if err != nil {
		return false
	}
	g.root.add(parsed, 0)
	return true
}

func (s *shape) add(v any, depth int) {
	if s.types == nil {
		s.types, s.fields, s.present = map[string]bool{}, map[string]*shape{}, map[string]int{}
	}
	switch v := v.(type) {
	case map[string]any:
		s.types["object"] = true
		s.objects++
		for name, member := range v {
			if s.fields[name] == nil && len(s.fields) < maxGuessFields && depth < maxGuessDepth {
				s.fields[name] = &shape{}
			}
			if s.fields[name] != nil {
				s.fields[name].add(member, depth+1)
				s.present[name]++
			}
		}
	case []any:
		s.types["array"] = true
		if s.items == nil {
			s.items = &shape{}
		}
		for _, element := range v {
			if depth < maxGuessDepth {
				s.items.add(element, depth+1)
			}
		}
	case json.Number:
		s.types["number"] = true
	case string:
		s.types["string"] = true
	case bool:
		s.types["boolean"] = true
	case nil:
		s.types["null"] = true
	}
}

// Schema returns the JSON Schema that all of the values satisfy. It allows further fields.
func (g *Guess) Schema() (json.RawMessage, error) { return json.Marshal(g.root.schema()) }

func (s *shape) schema() map[string]any {
	out := map[string]any{}
	if len(s.types) > 0 {
		out["type"] = slices.Sorted(maps.Keys(s.types))
	}
	if len(s.fields) > 0 && len(s.fields) < maxGuessFields {
		properties, required := map[string]any{}, []string{}
		for _, name := range slices.Sorted(maps.Keys(s.fields)) {
			properties[name] = s.fields[name].schema()
			if s.present[name] == s.objects {
				required = append(required, name)
			}
		}
		out["properties"], out["required"] = properties, required
	}
	if s.items != nil {
		out["items"] = s.items.schema()
	}
	return out
}
