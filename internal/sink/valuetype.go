package sink

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// valueType is a type with what its values consist of: the elements of an array, the bounds of a range, the members of a composite.
type valueType struct {
	name    string
	of      *valueType // of a domain, an array, a range or a multirange
	members map[string]*valueType
}

// newValueType reads what askColumns says of a type: each type, and in which other one it is.
func newValueType(parts string) (*valueType, error) {
	var all []struct {
		OID    int64
		Type   string
		Parent *int64
		Name   *string
	}
	if err := json.Unmarshal([]byte(parts), &all); err != nil {
		return nil, fmt.Errorf("read the parts of a type: %w", err)
	}
	types := map[int64]*valueType{}
	for _, p := range all {
		if types[p.OID] == nil {
			types[p.OID] = &valueType{name: p.Type, members: map[string]*valueType{}}
		}
	}
	var root *valueType
	for _, p := range all {
		switch child := types[p.OID]; {
		case p.Parent == nil:
			root = child
		case p.Name == nil:
			types[*p.Parent].of = child
		default:
			types[*p.Parent].members[*p.Name] = child
		}
	}
	return root, nil
}

// any reports whether the type, or one that its values consist of, has one of the names.
func (v *valueType) any(names ...string) bool {
	if slices.Contains(names, v.name) || v.of != nil && v.of.any(names...) {
		return true
	}
	for _, member := range v.members {
		if member.any(names...) {
			return true
		}
	}
	return false
}

// texts calls visit with each text of a value and the type that it is in, until visit returns an error: the member of a composite, or the
// array, the range or the composite that the text stands for.
func (v *valueType) texts(value transform.Value, visit func(*valueType, string) error) error {
	switch value.Kind() {
	case transform.KindString:
		return visit(v, value.Text())
	case transform.KindArray:
		for _, item := range value.Items() {
			if err := v.texts(item, visit); err != nil {
				return err
			}
		}
	case transform.KindObject:
		inside := v
		for inside.of != nil { // of an array, a domain
			inside = inside.of
		}
		for _, m := range value.Members() {
			if member := inside.members[m.Name]; member != nil {
				if err := member.texts(m.Value, visit); err != nil {
					return err
				}
			}
		}
	case transform.KindNull, transform.KindBoolean, transform.KindNumber:
	}
	return nil
}
