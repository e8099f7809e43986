package enrich

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/switchback-geo/switchback/internal/template"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

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
			return transform.Value{}, &fault{classify.CodeMissingRequired, fmt.Sprintf("the feature has no %s, which the request needs", t[0].Name)}
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
		return nil, &fault{classify.CodeLimitExceeded, fmt.Sprintf("with the feature's values the body has more than %d bytes", maxBodyBytes)}
	}
	return out, nil
}
