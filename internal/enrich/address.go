package enrich

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/internal/template"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// maxURLBytes is the longest URL that is sent. Servers refuse longer ones with an error that does not name the feature.
const maxURLBytes = 8 << 10

// parseNames splits a text at its braces: {id}, {properties.name}. Errors name the text by key.
func parseNames(key, text string) ([]template.Part, error) {
	parts, err := template.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", key, err)
	}
	return parts, nil
}

// address is a URL with names of feature values in braces.
type address []template.Part

func parseAddress(text string) (address, error) {
	parts, err := template.ParseURL(text)
	if err != nil {
		return nil, fmt.Errorf("http.url %w", err)
	}
	return parts, nil
}

// fill inserts the feature's values, each escaped for its place. A value can add neither a path segment nor a query
// parameter. fill refuses a path that software on the way could resolve differently (see package template): encoded
// twice, it would name another feature to every server that decodes once.
func (a address) fill(f *transform.Feature) (*url.URL, error) {
	var b strings.Builder
	for _, p := range a {
		if p.Name == "" {
			b.WriteString(p.Literal)
			continue
		}
		text, err := textOf(f, p.Name)
		if err != nil {
			return nil, err
		}
		if p.Query && strings.ContainsFunc(text, isUnprintable) {
			return nil, controlFault(p.Name)
		}
		b.WriteString(escape(text, p.Query))
		if b.Len() > maxURLBytes {
			return nil, failed(classify.CodeLimitExceeded, "with the feature's %s the URL has more than %d bytes", p.Name, maxURLBytes)
		}
	}
	u, err := url.Parse(b.String())
	if err != nil {
		return nil, failed(classify.CodeCoercionFailed, "the feature's values do not make a URL")
	}
	if found := template.PathFault(u.EscapedPath()); found != "" {
		return nil, failed(classify.CodeCoercionFailed, "with the feature's values the path of the URL %s", found)
	}
	return u, nil
}

// isUnprintable reports whether a control character occurs in no text; line breaks and tabs do.
func isUnprintable(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r'
}

func controlFault(name string) error {
	return failed(classify.CodeCoercionFailed, "%s of the feature holds a control character", name)
}

// valueOf returns the value of {id} or {properties.name}; ok is false if there is none.
func valueOf(f *transform.Feature, name string) (value transform.Value, ok bool) {
	if property, isProperty := strings.CutPrefix(name, "properties."); isProperty {
		return f.Property(property)
	}
	return f.ID, true
}

// textOf returns the text of {id} or {properties.name}. A missing value, null and the empty text are errors, because
// they would change the question.
func textOf(f *transform.Feature, name string) (string, error) {
	value, ok := valueOf(f, name)
	if kind := value.Kind(); kind == transform.KindArray || kind == transform.KindObject {
		return "", failed(classify.CodeWrongType, "%s of the feature is an %s, and the request needs a plain value", name, kind)
	}
	text := value.Text()
	if !ok || text == "" {
		return "", failed(classify.CodeMissingRequired, "the feature has no %s, which the request needs", name)
	}
	return text, nil
}

// escape encodes a value (RFC 3986). A blank is %20 in both places: + means a blank in forms only.
func escape(text string, query bool) string {
	if query {
		return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	}
	return url.PathEscape(text)
}

// maxBodyBytes is the largest body that is sent.
const maxBodyBytes = 1 << 20

// body makes a JSON value from a feature. Values become nodes of a tree and are never inserted into text, so no value
// can change the body's structure.
type body interface {
	value(f *transform.Feature) (transform.Value, error)
}

// parseBody converts a configured body: nil, bool, numbers, string, []any, map[string]any. Braces in texts name values
// of the feature.
func parseBody(key string, v any) (body, error) {
	switch v := v.(type) {
	case string:
		parts, err := parseNames(key, v)
		return bodyText(parts), err
	case []any:
		var out bodyList
		for i, item := range v {
			child, err := parseBody(key+"["+strconv.Itoa(i)+"]", item)
			if err != nil {
				return nil, err
			}
			out = append(out, child)
		}
		return out, nil
	case map[string]any:
		var out bodyTable
		for _, name := range slices.Sorted(maps.Keys(v)) {
			child, err := parseBody(key+"."+name, v[name])
			if err != nil {
				return nil, err
			}
			out = append(out, bodyMember{name, child})
		}
		return out, nil
	default:
		plain, err := transform.ValueOf(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		return bodyConstant(plain), nil
	}
}

// bodyText is a text with names in it.
type bodyText []template.Part

func (t bodyText) value(f *transform.Feature) (transform.Value, error) {
	if len(t) == 1 && t[0].Name != "" { // a single name keeps the type of its value
		value, ok := valueOf(f, t[0].Name)
		if !ok || value.IsNull() {
			return transform.Value{}, failed(classify.CodeMissingRequired, "the feature has no %s, which the request needs", t[0].Name)
		}
		return value, nil
	}
	text, err := plainText(t, f, nil)
	if err != nil {
		return transform.Value{}, err
	}
	return transform.StringValue(text), nil
}

// bodyConstant is a number, a boolean or null.
type bodyConstant transform.Value

func (c bodyConstant) value(*transform.Feature) (transform.Value, error) {
	return transform.Value(c), nil
}

// bodyList is a list.
type bodyList []body

func (l bodyList) value(f *transform.Feature) (transform.Value, error) {
	items := make([]transform.Value, len(l))
	for i, child := range l {
		var err error
		if items[i], err = child.value(f); err != nil {
			return transform.Value{}, err
		}
	}
	return transform.ArrayValue(items...), nil
}

// bodyTable is a mapping, in the order of its names.
type bodyTable []bodyMember

type bodyMember struct {
	name  string
	child body
}

func (t bodyTable) value(f *transform.Feature) (transform.Value, error) {
	members := make([]transform.Member, len(t))
	for i, m := range t {
		value, err := m.child.value(f)
		if err != nil {
			return transform.Value{}, err
		}
		members[i] = transform.Member{Name: m.name, Value: value}
	}
	return transform.ObjectValue(members...), nil
}

// fillBody returns the bytes to send; nil if there is no body.
func fillBody(b body, f *transform.Feature) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	value, err := b.value(f)
	if err != nil {
		return nil, err
	}
	out := value.AppendJSON(nil)
	if len(out) > maxBodyBytes {
		return nil, failed(classify.CodeLimitExceeded, "with the feature's values the body has more than %d bytes", maxBodyBytes)
	}
	return out, nil
}

// pointer is a JSON pointer (RFC 6901), such as /places/0/name. The configuration refuses an invalid one.
type pointer jsontext.Pointer

// String returns the pointer as written, or a word for the whole answer.
func (p pointer) String() string { return cmp.Or(string(p), "value") }

// in returns the value at the pointer.
func (p pointer) in(value transform.Value) (transform.Value, bool) {
	for token := range jsontext.Pointer(p).Tokens() {
		next, ok := child(value, token)
		if !ok {
			return transform.Value{}, false
		}
		value = next
	}
	return value, true
}

func child(value transform.Value, token string) (transform.Value, bool) {
	switch value.Kind() {
	case transform.KindObject:
		for _, member := range value.Members() {
			if member.Name == token {
				return member.Value, true
			}
		}
	case transform.KindArray:
		index, err := strconv.Atoi(token)
		if err == nil && strconv.Itoa(index) == token && 0 <= index && index < len(value.Items()) { // no sign, no leading zero
			return value.Items()[index], true
		}
	default:
	}
	return transform.Value{}, false
}
