package transform

import (
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Map applies the mapping: fields, flattening, what becomes of unmapped
// properties, constants; winding and precision of the geometry. f is not
// modified, and the result may share parts with it. The errors are [*Error] of
// the transform stage.
//
// The properties of the result stand in this order: the fields as the config
// lists them, then (with `unmapped: keep`) the others in the order of the
// source, then the constants by name, then the flag of an invalid geometry.
// Foreign members go the way of unmapped properties. A crs member is left out:
// the result is WGS 84, as RFC 7946 has it.
func (t *Transformer) Map(f *Feature) (*Feature, error) {
	out := &Feature{ID: f.ID, BBox: f.BBox, Violation: f.Violation}
	if t.config.Unmapped == UnmappedKeep {
		out.Foreign = f.Foreign
	}
	if err := t.mapGeometry(f, out); err != nil {
		return nil, err
	}
	m := mapping{t: t, f: f, out: make([]Member, 0, len(f.Properties)+len(t.constants)+1)}
	if err := m.properties(); err != nil {
		return nil, err
	}
	out.Properties = m.out
	for _, constant := range t.constants {
		out.SetProperty(constant.Name, constant.Value)
	}
	if out.Violation != nil {
		out.SetProperty(t.config.Geometry.FlagProperty, StringValue(out.Violation.Reason()))
	}
	if f.Properties == nil && len(out.Properties) == 0 {
		out.Properties = nil // null stays null
	}
	return out, nil
}

// mapping is the work on the properties of one feature.
type mapping struct {
	t     *Transformer
	f     *Feature
	out   []Member
	used  []*Value       // what fields have read, so that it is not kept twice
	names map[string]int // places in out, once they are many
}

// manyNames is from how many names on an index pays.
const manyNames = 32

// properties maps fields first, then what is left.
func (m *mapping) properties() error {
	for i := range m.t.fields {
		if err := m.field(&m.t.fields[i]); err != nil {
			return err
		}
	}
	if m.t.config.Unmapped == UnmappedDrop {
		return nil
	}
	for i := range m.f.Properties {
		member := &m.f.Properties[i]
		if m.isUsed(&member.Value) || m.isConstant(member.Name) {
			continue
		}
		rest, left := m.unused(&member.Value)
		if !left {
			continue
		}
		if err := m.write(member.Name, rest, 0, propertyPointer(member.Name)); err != nil {
			return err
		}
	}
	return nil
}

// field applies one rule.
func (m *mapping) field(rule *fieldRule) error {
	source, blocked := m.find(rule.From)
	if blocked != nil {
		return m.unusable(rule, *blocked, &Error{Code: classify.CodeWrongType, Message: "the path " + strconv.Quote(cut(rule.From)) +
			" leads through a " + string(blocked.Kind()) + ", not an object", Fix: "mend the source, or the rule's from"})
	}
	if source == nil {
		return m.missing(rule)
	}
	m.used = append(m.used, source)
	value := *source
	for _, word := range rule.nulls {
		if sameScalar(value, word) {
			value = NullValue()
			break
		}
	}
	if value.IsNull() {
		return m.null(rule)
	}
	coerced, ok := coerce(value, rule.Type)
	if !ok {
		return m.unusable(rule, value, &Error{Code: classify.CodeCoercionFailed,
			Message: "the " + string(value.Kind()) + " cannot become a field of type " + string(rule.Type),
			Fix:     "mend the source, list the value under null_values, or set on_error"})
	}
	return m.write(rule.To, coerced, 0, m.pointer(rule.From))
}

// find looks for a rule's source: by exact name, by dotted path, and by a
// flattened name. blocked is a value in the way that is no object.
func (m *mapping) find(from string) (found, blocked *Value) {
	if found = lookup(m.f.Properties, from, "."); found != nil {
		return found, nil
	}
	if flatten := m.t.config.Flatten; flatten != nil && flatten.Separator != "." {
		if found = lookup(m.f.Properties, from, flatten.Separator); found != nil {
			return found, nil
		}
	}
	return nil, obstacle(m.f.Properties, from)
}

// obstacle returns the value on a dotted path that ends it: neither an object
// nor an array nor null. A path that simply is not there has none.
func obstacle(members []Member, path string) *Value {
	for {
		head, rest, more := strings.Cut(path, ".")
		i := slices.IndexFunc(members, func(member Member) bool { return member.Name == head })
		if i < 0 || !more {
			return nil
		}
		switch value := &members[i].Value; value.Kind() {
		case KindObject:
			members, path = value.container.members, rest
		case KindArray, KindNull:
			return nil
		default:
			return value
		}
	}
}

// missing is what becomes of a field whose source is not there.
func (m *mapping) missing(rule *fieldRule) error {
	switch {
	case rule.OnError == OnErrorDefault:
		return m.write(rule.To, rule.fallback, 0, "")
	case rule.Required:
		return m.refuse(rule, nil, &Error{Code: classify.CodeMissingRequired,
			Message: "the required property " + strconv.Quote(cut(rule.From)) + " is missing", Fix: "send it, or set on_error: default"})
	}
	return nil
}

// null is what becomes of a field whose source is null, or a word for it.
func (m *mapping) null(rule *fieldRule) error {
	switch {
	case rule.OnError == OnErrorDefault:
		return m.write(rule.To, rule.fallback, 0, "")
	case rule.Required:
		return m.refuse(rule, nil, &Error{Code: classify.CodeMissingRequired,
			Message: "the required property " + strconv.Quote(cut(rule.From)) + " is null", Fix: "send a value, or set on_error: default"})
	}
	return m.write(rule.To, NullValue(), 0, m.pointer(rule.From))
}

// unusable is what becomes of a field whose source cannot be used.
func (m *mapping) unusable(rule *fieldRule, value Value, e *Error) error {
	switch rule.OnError {
	case OnErrorDefault:
		return m.write(rule.To, rule.fallback, 0, "")
	case OnErrorNull:
		return m.write(rule.To, NullValue(), 0, "")
	}
	return m.refuse(rule, &value, e)
}

// refuse fills in what every error of a rule has.
func (m *mapping) refuse(rule *fieldRule, value *Value, e *Error) *Error {
	e.Stage, e.Rule, e.Path, e.Feature = classify.StageTransform, rule.place, m.pointer(rule.From), m.f.IDString()
	if value != nil {
		e.Value = cut(string(value.AppendJSON(nil)))
	}
	return e
}

// pointer returns the JSON pointer of a rule's source.
func (m *mapping) pointer(from string) string {
	if slices.ContainsFunc(m.f.Properties, func(member Member) bool { return member.Name == from }) {
		return propertyPointer(from)
	}
	return propertyPointer(strings.Split(from, ".")...)
}

// propertyPointer returns the JSON pointer of a property (RFC 6901 section 3).
func propertyPointer(names ...string) string {
	pointer := "/properties"
	for _, name := range names {
		name = strings.ReplaceAll(name, "~", "~0")
		pointer += "/" + strings.ReplaceAll(name, "/", "~1")
	}
	return pointer
}
