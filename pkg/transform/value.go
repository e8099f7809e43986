package transform

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/switchback-geo/switchback/pkg/transform/internal/expression"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
)

// Kind is the JSON type of a [Value].
type Kind string

// The JSON types (RFC 8259 section 3).
const (
	KindNull    Kind = "null"
	KindBoolean Kind = "boolean"
	KindNumber  Kind = "number"
	KindString  Kind = "string"
	KindArray   Kind = "array"
	KindObject  Kind = "object"
)

// Kinds lists every [Kind].
func Kinds() []Kind {
	return []Kind{KindNull, KindBoolean, KindNumber, KindString, KindArray, KindObject}
}

// Value is one JSON value. A number keeps the digits with which it was written, so that a 64-bit ID or a long decimal
// stays exact. The zero Value is null. A Value is immutable and may be shared.
type Value struct {
	token     byte   // first byte of the JSON text: 0 and 'n' null, 't', 'f', '0', '"', '[', '{'
	text      string // the string, or the number as written
	container *container
}

// container has the elements of an array or an object.
type container struct {
	items   []Value
	members []Member
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value Value
}

// NullValue returns null.
func NullValue() Value { return Value{} }

// BooleanValue returns true or false.
func BooleanValue(b bool) Value {
	if b {
		return Value{token: 't'}
	}
	return Value{token: 'f'}
}

// StringValue returns a string. Bytes that are not UTF-8 become U+FFFD.
func StringValue(s string) Value { return Value{token: '"', text: validUTF8(s)} }

// IntegerValue returns a whole number.
func IntegerValue(i int64) Value { return Value{token: '0', text: strconv.FormatInt(i, 10)} }

// NumberValue returns a number in the shortest form that reads back as f. NaN and infinity, which JSON cannot represent,
// become null.
func NumberValue(f float64) Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return NullValue()
	}
	return Value{token: '0', text: string(numbers.AppendFloat(nil, f))}
}

// ArrayValue returns an array of items. It does not copy them.
func ArrayValue(items ...Value) Value { return Value{token: '[', container: &container{items: items}} }

// ObjectValue returns an object with members in this order. It does not copy them; no two may have the same name.
func ObjectValue(members ...Member) Value {
	return Value{token: '{', container: &container{members: members}}
}

// Kind returns the JSON type.
func (v Value) Kind() Kind {
	switch v.token {
	case 't', 'f':
		return KindBoolean
	case '0':
		return KindNumber
	case '"':
		return KindString
	case '[':
		return KindArray
	case '{':
		return KindObject
	default:
		return KindNull
	}
}

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.token == 0 || v.token == 'n' }

// Bool returns a boolean's value; false for every other kind.
func (v Value) Bool() bool { return v.token == 't' }

// Items returns an array's items, which must not be changed; nil for every other kind.
func (v Value) Items() []Value {
	if v.token != '[' {
		return nil
	}
	return v.container.items
}

// Members returns an object's members in their order, which must not be changed; nil for every other kind.
func (v Value) Members() []Member {
	if v.token != '{' {
		return nil
	}
	return v.container.members
}

// Member returns a member of an object by its exact name. Values of other kinds have none.
func (v Value) Member(name string) (member Value, found bool) {
	for _, m := range v.Members() {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Text returns the value as it stands in running text, such as a URL template: a string without quotes, a number as
// written, true or false, nothing for null, JSON for an array or an object.
func (v Value) Text() string {
	switch v.token {
	case '"', '0':
		return v.text
	case 't':
		return "true"
	case 'f':
		return "false"
	case '[', '{':
		return string(v.AppendJSON(nil))
	default:
		return ""
	}
}

// AppendJSON appends the value as compact JSON: strings with the fewest escapes, numbers as written.
func (v Value) AppendJSON(dst []byte) []byte {
	switch v.token {
	case '0':
		return append(dst, v.text...)
	case '"':
		return appendString(dst, v.text)
	case 't':
		return append(dst, "true"...)
	case 'f':
		return append(dst, "false"...)
	case '[':
		dst = append(dst, '[')
		for i, item := range v.container.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.AppendJSON(dst)
		}
		return append(dst, ']')
	case '{':
		return appendMembers(dst, v.container.members)
	default:
		return append(dst, "null"...)
	}
}

// MarshalJSON returns the value as compact JSON.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// appendMembers appends an object.
func appendMembers(dst []byte, members []Member) []byte {
	dst = append(dst, '{')
	for i := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, members[i].Name)
		dst = append(dst, ':')
		dst = members[i].Value.AppendJSON(dst)
	}
	return append(dst, '}')
}

// appendString appends a JSON string with the fewest escapes (RFC 8785 section 3.2.2.2). Most strings need none and are
// copied.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			// The only possible error is invalid UTF-8, which becomes U+FFFD here. A decoded string has none, and
			// StringValue has replaced it.
			dst, _ = jsontext.AppendQuote(dst, s)
			return dst
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// ValueOf converts what a YAML or JSON decoder returned for a scalar, a list or a map. The members of a map are sorted
// by name, so that one config gives one output. The error names a type that JSON cannot represent.
func ValueOf(v any) (Value, error) {
	switch v := v.(type) {
	case nil:
		return NullValue(), nil
	case Value:
		return v, nil
	case bool:
		return BooleanValue(v), nil
	case string:
		return StringValue(v), nil
	case int:
		return IntegerValue(int64(v)), nil
	case int64:
		return IntegerValue(v), nil
	case uint64:
		return Value{token: '0', text: strconv.FormatUint(v, 10)}, nil
	case expression.Whole:
		return Value{token: '0', text: v.Digits()}, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Value{}, fmt.Errorf("%v has no form in JSON", v)
		}
		return NumberValue(v), nil
	case []any:
		return listValue(v)
	case map[string]any:
		return mapValue(v)
	default:
		return Value{}, fmt.Errorf("%T has no form in JSON", v)
	}
}

func listValue(list []any) (Value, error) {
	items := make([]Value, len(list))
	for i, element := range list {
		item, err := ValueOf(element)
		if err != nil {
			return Value{}, fmt.Errorf("element %d: %w", i, err)
		}
		items[i] = item
	}
	return ArrayValue(items...), nil
}

func mapValue(m map[string]any) (Value, error) {
	members := make([]Member, 0, len(m))
	for _, name := range sortedKeys(m) {
		value, err := ValueOf(m[name])
		if err != nil {
			return Value{}, fmt.Errorf("%q: %w", name, err)
		}
		members = append(members, Member{name, value})
	}
	return ObjectValue(members...), nil
}

// sortedKeys returns the keys of m in byte order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// validUTF8 returns s with every byte that is not UTF-8 replaced.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
