package transform

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform/internal/expression"
)

// RecordExpression is an expression of the mapping's language over a record that is not a feature. It is safe for
// concurrent use.
type RecordExpression struct {
	compiled *expression.Program[expression.Record]
	fields   [][]string
}

// RecordFacts has the values that such an expression reads.
type RecordFacts struct {
	Value   Value             // value
	Key     string            // key; "" without one
	Headers map[string]string // headers["name"]; of several with one name the last
}

// CompileRecordExpression compiles text. The error is one line and names the place of the fault in the text.
func CompileRecordExpression(text string) (*RecordExpression, error) {
	if text == "" {
		return nil, errors.New("the expression is empty")
	}
	compiled, fields, err := expression.CompileRecord(text)
	if err != nil {
		return nil, err
	}
	return &RecordExpression{compiled, fields}, nil
}

// Absent returns the fields that the expression reads and a value does not have, such as value.a.b: they are null. A
// field that the expression reads with ?. or ??, or compares with nil, may be absent.
func (e *RecordExpression) Absent(value Value) (names []string) {
	for _, path := range e.fields {
		if !has(value, path) {
			names = append(names, "value."+strings.Join(path, "."))
		}
	}
	return slices.Compact(names)
}

// has reports whether a value has the field at a path.
func has(value Value, path []string) bool {
	for _, step := range path {
		var found bool
		if i, err := strconv.Atoi(step); err == nil && value.Kind() == KindArray {
			if found = i < len(value.Items()); found {
				value = value.Items()[i]
			}
		} else {
			value, found = value.Member(step)
		}
		if !found {
			return false
		}
	}
	return true
}

// Eval runs the expression. The error is one line.
func (e *RecordExpression) Eval(facts RecordFacts) (Value, error) {
	env := expression.Record{Value: plainValue(facts.Value), Key: facts.Key, Headers: make(map[string]any, len(facts.Headers))}
	longest := max(longestText(facts.Value), len(facts.Key))
	for name, value := range facts.Headers {
		env.Headers[name] = value
		longest = max(longest, len(value))
	}
	if e.compiled.Reads.Loops {
		env.Steps = expression.NewSteps(longest)
	}
	return result(e.compiled.Run(env))
}
