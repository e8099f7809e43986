package transform

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

// Map applies the mapping: fields, flattening, unmapped properties, constants, and winding and precision of the
// geometry. It does not change f; the result may share parts with it. gates is the result of [Transformer.Gate] for
// f; with nil the geometry is mapped as it is. The errors are [*Error] of the transform stage, or that of the
// context.
//
// The properties of the result are in this order: the fields as the config lists them, then (with `unmapped: keep`)
// the others in the order of the source, then the constants by name, then the flag property. Foreign members are
// treated as unmapped properties are. A crs member is dropped, because the result is in the target system.
//
// The flag property belongs to this mapping. A value that the source has under its name is repeated in it after the
// word "source", so that it is not mistaken for a verdict.
func (t *Transformer) Map(ctx context.Context, f *Feature, gates *Gated) (*Feature, error) {
	out, err := t.mapped(ctx, f, gates)
	if err != nil {
		return nil, t.placed(err)
	}
	return out, nil
}

func (t *Transformer) mapped(ctx context.Context, f *Feature, gates *Gated) (*Feature, error) {
	id, err := t.targetID(f)
	if err != nil {
		return nil, err
	}
	out := &Feature{ID: id, BBox: f.BBox}
	var flags []string
	if gates != nil {
		out.Violation, flags = gates.violation, gates.flags
	}
	if t.config.Unmapped == UnmappedKeep {
		out.Foreign = f.Foreign
	}
	more, err := t.mapGeometry(ctx, f, gates, out)
	if err != nil {
		return nil, err
	}
	m, _ := t.mappings.Get().(*mapping)
	if m == nil {
		m = &mapping{t: t}
	}
	defer m.release()
	m.f, m.out = f, make([]Member, 0, len(f.Properties)+len(t.constants)+2)
	if err := m.properties(); err != nil {
		return nil, err
	}
	out.Properties = m.out
	for _, constant := range t.constants {
		out.SetProperty(constant.Name, constant.Value)
	}
	t.setFlags(out, flags, more)
	if f.Properties == nil && len(out.Properties) == 0 {
		out.Properties = nil // null stays null
	}
	return out, nil
}

// setFlags writes the flag property: the repairs and flags of the gates, the effects of rounding, and the source's
// own value under that name.
func (t *Transformer) setFlags(out *Feature, gates, rounding []string) {
	name := t.config.Geometry.FlagProperty
	var flags []string
	for i := range out.Properties {
		if out.Properties[i].Name == name {
			flags = append(flags, "source: "+out.Properties[i].Value.Text())
			out.Properties = slices.Delete(out.Properties, i, i+1)
			break
		}
	}
	flags = append(append(flags, gates...), rounding...)
	if out.Violation != nil {
		flags = append(flags, out.Violation.Reason())
	}
	if len(flags) > 0 {
		out.SetProperty(name, StringValue(strings.Join(flags, "; ")))
	}
}

// mapping maps the properties of one feature.
type mapping struct {
	t      *Transformer
	f      *Feature
	out    []Member
	used   []*Value       // values that fields have read, so that they are not written twice
	names  map[string]int // indexes in out, once there are many
	origin string         // the current source property, if no rule reads it
}

// maxUsed is the capacity of used that a mapping keeps between two features.
const maxUsed = 1024

// release forgets the feature and keeps the scratch memory for the next one.
func (m *mapping) release() {
	clear(m.used)
	used := m.used[:0]
	if cap(used) > maxUsed {
		used = nil
	}
	*m = mapping{t: m.t, used: used}
	m.t.mappings.Put(m)
}

// manyNames is the number of names from which an index is faster.
const manyNames = 32

// properties maps the fields, then the other properties.
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
		m.origin = member.Name
		if err := m.write(member.Name, rest, 0, nil); err != nil {
			return err
		}
	}
	return nil
}

// field applies one rule.
func (m *mapping) field(rule *fieldRule) error {
	if rule.program != nil {
		value, err := evalField(rule.program, m.f, m.out)
		if err != nil {
			return m.unusable(rule, nil, evalError(err))
		}
		return m.value(rule, value)
	}
	source, blocked := m.find(rule.From)
	if blocked != nil {
		return m.unusable(rule, blocked, &Error{Code: classify.CodeWrongType, Message: "the path " + strconv.Quote(shorten.Text(rule.From)) +
			" leads through a " + string(blocked.Kind()) + ", not an object", Fix: "fix the source, or the rule's from"})
	}
	if source == nil {
		return m.missing(rule)
	}
	m.used = append(m.used, source)
	return m.value(rule, *source)
}

// value runs a rule's value through its steps and writes it.
func (m *mapping) value(rule *fieldRule, value Value) error {
	if rule.isNull(value) {
		return m.null(rule)
	}
	converted, e := rule.convert(value)
	switch {
	case e != nil && rule.isMandatory(e):
		return m.refuse(rule, &value, e)
	case e != nil:
		return m.unusable(rule, &value, e)
	case converted.IsNull():
		return m.null(rule)
	}
	return m.write(rule.To, converted, 0, rule)
}

// find looks up a rule's source by exact name, by dotted path, and by a flattened name. blocked is a value on the path
// that is not an object.
func (m *mapping) find(from string) (found, blocked *Value) {
	if found = m.t.config.find(m.f, from); found != nil {
		return found, nil
	}
	return nil, obstacle(m.f.Properties, from)
}

// Finds reports whether a feature has the property of a rule's From, as the mapping reads it.
func (c Config) Finds(f *Feature, from string) bool { return c.find(f, from) != nil }

func (c *Config) find(f *Feature, from string) *Value {
	if found := lookup(f.Properties, from, "."); found != nil || c.Flatten == nil || c.Flatten.Separator == "." {
		return found
	}
	return lookup(f.Properties, from, c.Flatten.Separator)
}

// obstacle returns the value that ends a dotted path because it is neither an object nor an array nor null. It returns
// nil for a path that does not exist.
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

// missing handles a field whose source does not exist.
func (m *mapping) missing(rule *fieldRule) error {
	switch {
	case rule.OnError == OnErrorDefault:
		return m.write(rule.To, rule.fallback, 0, rule)
	case rule.Required:
		return m.refuse(rule, nil, &Error{Code: classify.CodeMissingRequired,
			Message: "the required property " + strconv.Quote(shorten.Text(rule.From)) + " is missing", Fix: "send it, or set on_error: default"})
	}
	return nil
}

// null handles a field whose source is null, or a null word.
func (m *mapping) null(rule *fieldRule) error {
	switch {
	case rule.OnError == OnErrorDefault:
		return m.write(rule.To, rule.fallback, 0, rule)
	case rule.Required:
		return m.refuse(rule, nil, &Error{Code: classify.CodeMissingRequired,
			Message: "the required " + rule.source() + " is null", Fix: "send a value, or set on_error: default"})
	}
	return m.write(rule.To, NullValue(), 0, rule)
}

// unusable handles a field whose source cannot be used.
func (m *mapping) unusable(rule *fieldRule, value *Value, e *Error) error {
	switch rule.OnError {
	case OnErrorDefault:
		return m.write(rule.To, rule.fallback, 0, rule)
	case OnErrorNull:
		return m.write(rule.To, NullValue(), 0, rule)
	default: // decided below
	}
	return m.refuse(rule, value, e)
}

// refuse sets the fields that every error of a rule has.
func (m *mapping) refuse(rule *fieldRule, value *Value, e *Error) *Error {
	e.Stage, e.Rule, e.Path, e.Feature = classify.StageTransform, rule.place, m.pointer(rule), m.f.IDString()
	e.RuleLine = m.t.config.Lines[rule.place]
	if value != nil {
		e.Value = shorten.Text(value.AppendJSON(nil))
	}
	return e
}

// pointer returns the JSON pointer of a rule's source; "" for an expression, which reads no single place.
func (m *mapping) pointer(rule *fieldRule) string {
	switch {
	case rule.program != nil:
		return ""
	case slices.ContainsFunc(m.f.Properties, func(member Member) bool { return member.Name == rule.From }):
		return propertyPointer(rule.From)
	}
	return propertyPointer(strings.Split(rule.From, ".")...)
}

// propertyPointer returns the JSON pointer of a property (RFC 6901 section 3).
func propertyPointer(names ...string) string {
	pointer := jsontext.Pointer("/properties")
	for _, name := range names {
		pointer = pointer.AppendToken(name)
	}
	return string(pointer)
}

// source names the source of a rule, for a message.
func (rule *fieldRule) source() string {
	if rule.program != nil {
		return "result of the expression"
	}
	return "property " + strconv.Quote(shorten.Text(rule.From))
}
