package sink

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// valueType is a type with the types of its parts: the elements of an array, the bounds of a range, the members of a
// composite.
type valueType struct {
	name    string
	of      *valueType // of a domain, an array, a range or a multirange
	members map[string]*valueType

	rewrites bool // of the outermost type: see rewritten
}

// newValueType parses the result of askColumns about a type: its component types, each with the type that contains it.
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

// any reports whether the type or one of its component types has one of the names.
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

// texts calls visit with each text of a value and the type that contains it, until visit returns an error. The type is
// the member's type in a composite, or an array, range or composite that is given as text.
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

// unknownMember returns the JSON pointer, relative to a value, of the first member of an object that its composite type
// does not have. PostgreSQL would omit it. It returns "" if there is none.
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

// rewritten returns a value in the form that the type accepts: bytes as hexadecimal digits after \x, and whole numbers
// such as 12.0 with their digits alone, also within arrays and composites.
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
		if n, err := strconv.ParseInt(wholeDigits(value.Text()), 10, 64); err == nil {
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

// bytea is PostgreSQL's type for bytes.
const bytea = "bytea"

// binaryOf parses bytes from text: hexadecimal digits after \x, as PostgreSQL writes them, or the configured form.
// PostgreSQL itself would store the letters of base64 as bytes.
func binaryOf(text string, mode config.BinaryText) (raw []byte, ok bool) {
	digits, prefixed := strings.CutPrefix(text, `\x`)
	if prefixed || mode == config.BinaryHex {
		raw, err := hex.DecodeString(digits)
		return raw, err == nil
	}
	text = strings.NewReplacer("\n", "", "\r", "").Replace(strings.TrimRight(text, "=\r\n"))
	switch mode {
	case config.BinaryBase64URLSafe:
		raw, err := base64.RawURLEncoding.DecodeString(text)
		return raw, err == nil
	case config.BinaryBase64:
		raw, err := base64.RawStdEncoding.DecodeString(text)
		return raw, err == nil
	case config.BinaryBytes, config.BinaryHex: // hexadecimal digits are parsed already
	}
	raw, err := base64.RawStdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(text))
	return raw, err == nil && !isLowerHex(text)
}

// isLowerHex reports whether a text is bytes in hexadecimal digits, as Debezium writes them.
func isLowerHex(text string) bool {
	return text != "" && len(text)%2 == 0 && strings.Trim(text, "0123456789abcdef") == ""
}

// checkBytes refuses invalid bytes in a column, an array or a member.
func (t *table) checkBytes(c column, v transform.Value, key []byte) error {
	if !c.values.any(bytea) {
		return nil
	}
	kind, ambiguous := v.Kind(), false
	fits := kind == transform.KindNull || kind == transform.KindString || kind == transform.KindArray && isArray(c) || kind == transform.KindObject && c.Type != bytea && !isArray(c)
	_ = c.values.texts(v, func(in *valueType, text string) error {
		_, ok := binaryOf(text, t.binary)
		ambiguous = ambiguous || in.any(bytea) && isLowerHex(text)
		fits = fits && (ok || !in.any(bytea))
		return nil
	})
	if fits {
		return nil
	}
	fault, fix := "the value is neither base64 nor hexadecimal digits after \\x", "send the bytes in base64, or change the type of the column to text"
	switch {
	case t.binary == config.BinaryHex:
		fault, fix = "the value is not hexadecimal (sink.postgis.binary: hex)", "set sink.postgis.binary to the connector's binary.handling.mode, or send hexadecimal digits"
	case t.binary != config.BinaryBytes:
		fault, fix = "the value is no "+string(t.binary)+" (sink.postgis.binary), and not hexadecimal digits after \\x", "set sink.postgis.binary to the connector's binary.handling.mode"
	case ambiguous:
		fault, fix = "the value could be base64 or hexadecimal, with different bytes", "set sink.postgis.binary to the connector's binary.handling.mode: base64 or hex (base64 for bytes), and replay"
	}
	return t.refused(c, key, fault, fix)
}
