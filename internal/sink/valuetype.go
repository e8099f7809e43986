package sink

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// valueType is a type with what its values consist of: the elements of an array, the bounds of a range, the members of a composite.
type valueType struct {
	name    string
	of      *valueType // of a domain, an array, a range or a multirange
	members map[string]*valueType

	rewrites bool // of the outermost type: see rewritten
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
	root.rewrites = root.any(bytea, "int2", "int4", "int8")
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
		members := v.innermost().members
		for _, m := range value.Members() {
			if member := members[m.Name]; member != nil {
				if err := member.texts(m.Value, visit); err != nil {
					return err
				}
			}
		}
	case transform.KindNull, transform.KindBoolean, transform.KindNumber:
	}
	return nil
}

// unknownMember returns the JSON pointer, below a value, of the first member of an object that its composite type does not have. PostgreSQL would
// leave it out. It returns "" if there is none.
func (v *valueType) unknownMember(value transform.Value) string {
	switch value.Kind() {
	case transform.KindArray:
		for i, item := range value.Items() {
			if below := v.unknownMember(item); below != "" {
				return "/" + strconv.Itoa(i) + below
			}
		}
	case transform.KindObject:
		members := v.innermost().members
		if len(members) == 0 { // a type such as jsonb
			break
		}
		for _, m := range value.Members() {
			member := members[m.Name]
			if member == nil {
				return pointer(m.Name)
			}
			if below := member.unknownMember(m.Value); below != "" {
				return pointer(m.Name) + below
			}
		}
	case transform.KindNull, transform.KindBoolean, transform.KindNumber, transform.KindString:
	}
	return ""
}

// innermost returns the type of the elements of arrays and of the bounds of ranges, without domains.
func (v *valueType) innermost() *valueType {
	for v.of != nil {
		v = v.of
	}
	return v
}

// rewritten returns a value in the form in which the type reads it: bytes as hexadecimal digits behind \x, and whole numbers such as 12.0
// with their digits alone, also within arrays and composites.
func (v *valueType) rewritten(value transform.Value, binary config.BinaryText) transform.Value {
	inside := v.innermost()
	switch value.Kind() {
	case transform.KindArray:
		items := make([]transform.Value, 0, len(value.Items()))
		for _, item := range value.Items() {
			items = append(items, v.rewritten(item, binary))
		}
		return transform.ArrayValue(items...)
	case transform.KindObject:
		members := make([]transform.Member, 0, len(value.Members()))
		for _, m := range value.Members() {
			if member := inside.members[m.Name]; member != nil {
				m.Value = member.rewritten(m.Value, binary)
			}
			members = append(members, m)
		}
		return transform.ObjectValue(members...)
	case transform.KindNumber:
		if inside.name != "int2" && inside.name != "int4" && inside.name != "int8" {
			break
		}
		if n, err := strconv.ParseInt(whole(value.Text()), 10, 64); err == nil {
			return transform.IntegerValue(n)
		}
	case transform.KindString:
		if raw, ok := binaryOf(value.Text(), binary); ok && inside.name == bytea {
			return transform.StringValue(`\x` + hex.EncodeToString(raw))
		}
	case transform.KindNull, transform.KindBoolean:
	}
	return value
}
