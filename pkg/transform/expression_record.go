package transform

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// RecordExpression is an expression of the mapping's language over a record that is not a feature. It is safe for
// concurrent use.
type RecordExpression struct {
	compiled *expression
	fields   [][]string
}

// RecordFacts is what such an expression reads.
type RecordFacts struct {
	Value   Value             // value
	Key     string            // key; "" without one
	Headers map[string]string // headers["name"]; of several with one name the last
}

// recordEnvironment are the names of a [RecordExpression].
type recordEnvironment struct {
	Value   any            `expr:"value"`
	Key     string         `expr:"key"`
	Headers map[string]any `expr:"headers"`
	Steps   *steps         `expr:"[steps]"`
}

// CompileRecordExpression compiles text. The error is one line and names the place of the fault in the text.
func CompileRecordExpression(text string) (*RecordExpression, error) {
	if text == "" {
		return nil, errors.New("the expression is empty")
	}
	read := fieldReads{}
	compiled, err := compileIn(recordEnvironment{}, text, false, expr.Patch(read))
	if err != nil {
		return nil, err
	}
	e := &RecordExpression{compiled: compiled}
	for _, path := range read {
		if len(path) > 0 {
			e.fields = append(e.fields, path)
		}
	}
	slices.SortFunc(e.fields, slices.Compare)
	return e, nil
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

// fieldReads maps nodes to the paths of fields of value that an expression reads by fixed names. The path of value
// itself is empty.
type fieldReads map[ast.Node][]string

// Visit records one node. The library visits children first.
func (f fieldReads) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value == "value" {
			f[n] = []string{}
		}
	case *ast.MemberNode:
		path, of := f[n.Node]
		step, fixed := fixedStep(n.Property)
		delete(f, n.Node) // the field inside it is what is read
		if of && fixed && !n.Optional {
			f[n] = append(slices.Clone(path), step)
		}
	case *ast.BinaryNode:
		_, left := n.Left.(*ast.NilNode)
		_, right := n.Right.(*ast.NilNode)
		if n.Operator == "??" || left || right {
			delete(f, n.Left)
			delete(f, n.Right)
		}
	}
}

// fixedStep returns the literal name of a field, or the literal index into a list.
func fixedStep(property ast.Node) (step string, ok bool) {
	switch n := property.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode:
		return strconv.Itoa(n.Value), n.Value >= 0
	}
	return "", false
}

// Eval runs the expression. The error is one line.
func (e *RecordExpression) Eval(facts RecordFacts) (Value, error) {
	env := recordEnvironment{Value: plainValue(facts.Value), Key: facts.Key, Headers: make(map[string]any, len(facts.Headers))}
	longest := max(longestText(facts.Value), len(facts.Key))
	for name, value := range facts.Headers {
		env.Headers[name] = value
		longest = max(longest, len(value))
	}
	if e.compiled.loops {
		env.Steps = &steps{left: maxExpressionSteps, each: 1 + longest/stepText}
	}
	return e.compiled.run(env)
}
