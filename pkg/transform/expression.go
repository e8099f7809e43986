package transform

import (
	"errors"
	"math"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
	"github.com/switchback-geo/switchback/pkg/transform/internal/expression"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
)

// eval runs an expression over a feature.
func eval(e *expression.Program[expression.Feature], f *Feature) (Value, error) {
	return result(e.Run(environmentOf(&e.Reads, f)))
}

// evalField runs an expression over a feature and the fields that earlier rules wrote.
func evalField(e *expression.Program[expression.Field], f *Feature, target []Member) (Value, error) {
	env := expression.Field{Feature: environmentOf(&e.Reads, f)}
	if e.Reads.Target {
		env.Target = plainMembers(target)
	}
	return result(e.Run(env))
}

// environmentOf converts the values that an expression reads of a feature.
func environmentOf(reads *expression.Reads, f *Feature) expression.Feature {
	env := expression.Feature{Properties: map[string]any{}}
	longest := len(f.ID.text)
	if reads.ID {
		env.ID = plainValue(f.ID)
	}
	for i := range f.Properties {
		if name, value := f.Properties[i].Name, f.Properties[i].Value; reads.Property(name) {
			env.Properties[name] = plainValue(value)
			if reads.Loops {
				longest = max(longest, longestText(value))
			}
		}
	}
	if reads.Geometry {
		env.Geometry = factsOf(f.Geometry)
	}
	if reads.Loops {
		env.Steps = expression.NewSteps(longest)
	}
	return env
}

// longestText returns the length of the longest text in a value.
func longestText(v Value) int {
	longest := len(v.text)
	for _, item := range v.Items() {
		longest = max(longest, longestText(item))
	}
	for _, member := range v.Members() {
		longest = max(longest, longestText(member.Value), len(member.Name))
	}
	return longest
}

// result converts the result of an expression to a value.
func result(out any, err error) (Value, error) {
	if err != nil {
		return Value{}, err
	}
	left := expression.MaxItems
	return resultValue(out, &left)
}

// evalError returns the error for an expression without a result. It has no stage and no rule yet.
func evalError(err error) *Error {
	return &Error{Code: classify.CodeExpressionFailed, Message: "the expression has no result: " + shorten.Text(err.Error()),
		Fix: "check for values that may be missing (x ?? 0, a?.b), or set on_error"}
}

// plainValue converts a value to a type that expressions use: int, float64, string, bool, nil, []any, map[string]any,
// and [expression.Whole] for a whole number beyond 64 bits. Any other number becomes a double.
func plainValue(v Value) any {
	switch v.Kind() {
	case KindBoolean:
		return v.Bool()
	case KindNumber:
		if i, ok := numbers.Integer(v.text); ok {
			return int(i)
		}
		if whole, ok := expression.AsWhole(v.text); ok {
			return whole
		}
		return numbers.Double(v.text)
	case KindString:
		return v.text
	case KindArray:
		items := make([]any, len(v.container.items))
		for i, item := range v.container.items {
			items[i] = plainValue(item)
		}
		return items
	case KindObject:
		return plainMembers(v.container.members)
	default: // decided below
	}
	return nil
}

func plainMembers(members []Member) map[string]any {
	plain := make(map[string]any, len(members))
	for i := range members {
		plain[members[i].Name] = plainValue(members[i].Value)
	}
	return plain
}

func factsOf(g Geometry) expression.Geometry {
	facts := expression.Geometry{Type: string(g.Type()), Positions: g.Positions()}
	if low, high, found := geometry.Bounds(g.Shape); found {
		facts.BBox = []float64{low[0], low[1], high[0], high[1]}
	}
	return facts
}

// resultValue converts the result of an expression to a value of at most left elements.
func resultValue(v any, left *int) (Value, error) {
	if *left--; *left < 0 {
		return Value{}, errors.New("the result is too large")
	}
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Value{}, errors.New("the result is not a finite number")
		}
		return NumberValue(v), nil
	case []any:
		return resultList(v, left)
	case []string:
		return resultList(v, left)
	case []int:
		return resultList(v, left)
	case []float64:
		return resultList(v, left)
	case expression.Geometry:
		return Value{}, errors.New("the geometry cannot be a result; name a member of it")
	case map[string]any:
		members := make([]Member, 0, len(v))
		for _, name := range sortedKeys(v) {
			value, err := resultValue(v[name], left)
			if err != nil {
				return Value{}, err
			}
			members = append(members, Member{name, value})
		}
		return ObjectValue(members...), nil
	default:
		return ValueOf(v)
	}
}

func resultList[T any](list []T, left *int) (Value, error) {
	items := make([]Value, len(list))
	for i, element := range list {
		item, err := resultValue(element, left)
		if err != nil {
			return Value{}, err
		}
		items[i] = item
	}
	return ArrayValue(items...), nil
}
