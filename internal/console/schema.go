package console

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// object is a JSON object of the OpenAPI document.
type object map[string]any

// schemas are the JSON schemas of structs by their names. A type without a schema is a mistake in a route, and the
// console does not start.
type schemas map[string]object

// of returns the schema of a type as encoding/json encodes it. A struct becomes a component.
func (s schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage]() || t.Implements(reflect.TypeFor[json.Marshaler]()):
		return object{} // any value
	case t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Interface:
		return object{}
	case reflect.Pointer:
		return orNull(s.of(t.Elem()))
	case reflect.Map:
		return orNull(object{"type": "object", "additionalProperties": s.of(t.Elem())})
	case reflect.Slice:
		return orNull(object{"type": "array", "items": s.of(t.Elem())})
	case reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Struct:
		return s.component(t)
	default:
		panic(fmt.Sprintf("a %s has no JSON schema", t))
	}
}

// orNull allows null in addition to a schema.
func orNull(inner object) object {
	return object{"anyOf": []object{inner, {"type": "null"}}}
}

// component adds the schema of a struct once, and returns a reference to it. The fields of an embedded struct are among
// its own.
func (s schemas) component(t reflect.Type) object {
	reference := object{"$ref": "#/components/schemas/" + t.Name()}
	if entered, ok := s[t.Name()]; ok {
		if entered["$comment"] != t.String() {
			panic(fmt.Sprintf("two types are called %s: %s and %s", t.Name(), entered["$comment"], t))
		}
		return reference
	}
	properties, required := object{}, []string{}
	schema := object{"$comment": t.String(), "type": "object", "properties": properties}
	s[t.Name()] = schema // its fields may refer to it
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() || f.Anonymous && name == "" {
			continue
		}
		name = cmp.Or(name, f.Name)
		properties[name] = s.of(f.Type)
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	schema["required"] = required
	return reference
}
