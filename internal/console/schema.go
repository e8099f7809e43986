package console

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// object is a JSON object of the OpenAPI document.
type object map[string]any

// schemas makes JSON schemas of Go types as encoding/json writes them. A struct becomes a component of its own.
type schemas struct{ components object }

// of returns the schema of a type.
func (s *schemas) of(t reflect.Type) (object, error) {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}, nil
	case t == reflect.TypeFor[json.RawMessage]() || t.Implements(reflect.TypeFor[json.Marshaler]()):
		return object{}, nil // any value
	case t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}, nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}, nil
	case reflect.String:
		return object{"type": "string"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer"}, nil
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}, nil
	case reflect.Interface:
		return object{}, nil
	case reflect.Pointer:
		inner, err := s.of(t.Elem())
		return orNull(inner), err
	case reflect.Map:
		inner, err := s.of(t.Elem())
		return orNull(object{"type": "object", "additionalProperties": inner}), err
	case reflect.Slice, reflect.Array:
		return s.list(t)
	case reflect.Struct:
		return s.component(t)
	default:
		return nil, fmt.Errorf("a %s has no JSON schema", t)
	}
}

// orNull allows null besides a schema.
func orNull(inner object) object {
	return object{"anyOf": []object{inner, {"type": "null"}}}
}

func (s *schemas) list(t reflect.Type) (object, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return orNull(object{"type": "string", "contentEncoding": "base64"}), nil
	}
	inner, err := s.of(t.Elem())
	list := object{"type": "array", "items": inner}
	if t.Kind() == reflect.Array {
		list["minItems"], list["maxItems"] = t.Len(), t.Len()
		return list, err
	}
	return orNull(list), err
}

// component enters the schema of a struct, once, and returns a reference to it.
func (s *schemas) component(t reflect.Type) (object, error) {
	name := t.Name()
	reference := object{"$ref": "#/components/schemas/" + name}
	if name == "" {
		return nil, fmt.Errorf("a struct without a name has no JSON schema: %s", t)
	}
	if entered, ok := s.components[name].(object); ok {
		if entered["$comment"] != t.String() {
			return nil, fmt.Errorf("two types are called %s: %s and %s", name, entered["$comment"], t)
		}
		return reference, nil
	}
	properties, required := object{}, []string{}
	schema := object{"$comment": t.String(), "type": "object", "properties": properties}
	s.components[name] = schema
	err := s.fields(t, properties, &required)
	schema["required"] = required
	return reference, err
}

// fields enters the fields of a struct; those of an embedded one stand among them.
func (s *schemas) fields(t reflect.Type, properties object, required *[]string) error {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if f.Anonymous && name == "" {
			if err := s.fields(f.Type, properties, required); err != nil {
				return err
			}
			continue
		}
		if name == "" {
			name = f.Name
		}
		schema, err := s.of(f.Type)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		properties[name] = schema
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
	return nil
}
