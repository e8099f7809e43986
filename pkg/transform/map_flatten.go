package transform

import (
	"slices"
	"strconv"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

// write writes a property of the result, which lies depth levels below the one that is flattened. rule is the rule that
// writes it, or nil. If the config asks for it, objects become flat names.
func (m *mapping) write(name string, v Value, depth int, rule *fieldRule) error {
	flatten := m.t.config.Flatten
	if flatten == nil || depth >= flatten.MaxDepth {
		return m.add(name, v, rule)
	}
	switch {
	case v.Kind() == KindObject && len(v.Members()) > 0:
		for _, member := range v.Members() {
			if err := m.write(name+flatten.Separator+member.Name, member.Value, depth+1, rule); err != nil {
				return err
			}
		}
		return nil
	case v.Kind() == KindArray && len(v.Items()) > 0 && flatten.Arrays == ArraysIndex:
		for i, item := range v.Items() {
			if err := m.write(name+flatten.Separator+decimal(i), item, depth+1, rule); err != nil {
				return err
			}
		}
		return nil
	}
	return m.add(name, v, rule)
}

// add appends a property. It refuses a name that already exists, because one of the two values would be lost silently.
func (m *mapping) add(name string, v Value, rule *fieldRule) error {
	if m.has(name) {
		pointer, line := propertyPointer(m.origin), 0
		if rule != nil {
			pointer, line = m.pointer(rule), m.t.config.Lines[rule.place]
		}
		return &Error{Code: classify.CodeFlattenConflict, Stage: classify.StageTransform, Rule: string(RuleFlattenedNames),
			RuleLine: line, Path: pointer, Value: shorten.Text(v.AppendJSON(nil)), Feature: m.f.IDString(),
			Message: "two properties would be named " + strconv.Quote(shorten.Text(name)),
			Fix:     "set a field rule for one of them, choose another flatten.separator, or set unmapped: drop"}
	}
	if m.names != nil {
		m.names[name] = len(m.out)
	}
	m.out = append(m.out, Member{name, v})
	return nil
}

// has reports whether the result has a property.
func (m *mapping) has(name string) bool {
	if len(m.out) < manyNames {
		return slices.ContainsFunc(m.out, func(member Member) bool { return member.Name == name })
	}
	if m.names == nil {
		m.names = make(map[string]int, 2*len(m.out))
		for i := range m.out {
			m.names[m.out[i].Name] = i
		}
	}
	_, found := m.names[name]
	return found
}

// isUsed reports whether a field has read exactly this value.
func (m *mapping) isUsed(v *Value) bool { return slices.Contains(m.used, v) }

// isConstant reports whether a constant replaces the property of this name.
func (m *mapping) isConstant(name string) bool {
	return slices.ContainsFunc(m.t.constants, func(constant Member) bool { return constant.Name == name })
}

// unused returns an object without the members that fields have read; false if none are left. Arrays stay complete,
// so that their elements keep their indexes.
func (m *mapping) unused(v *Value) (Value, bool) {
	if len(m.used) == 0 || v.Kind() != KindObject || len(v.container.members) == 0 {
		return *v, true
	}
	if !m.touches(v) {
		return *v, true
	}
	var rest []Member
	for i := range v.container.members {
		member := &v.container.members[i]
		if m.isUsed(&member.Value) {
			continue
		}
		if value, left := m.unused(&member.Value); left {
			rest = append(rest, Member{member.Name, value})
		}
	}
	return ObjectValue(rest...), len(rest) > 0
}

// touches reports whether fields have read a member of an object or of one inside it.
func (m *mapping) touches(v *Value) bool {
	if v.Kind() != KindObject {
		return false
	}
	for i := range v.container.members {
		if value := &v.container.members[i].Value; m.isUsed(value) || m.touches(value) {
			return true
		}
	}
	return false
}
