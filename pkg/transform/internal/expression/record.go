package expression

import (
	"slices"
	"strconv"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// Record has the names of an expression over a record that is not a feature.
type Record struct {
	Value   any            `expr:"value"`
	Key     string         `expr:"key"`
	Headers map[string]any `expr:"headers"`
	Steps   *Steps         `expr:"[steps]"`
}

// CompileRecord compiles text that reads the names of a [Record]. fields are the paths of the fields of value that the
// expression reads by fixed names, sorted. A field that it reads with ?. or ??, or compares with nil, is not among them.
func CompileRecord(text string) (e *Program[Record], fields [][]string, err error) {
	read := fieldReads{}
	if e, err = compile[Record](text, expr.Patch(read)); err != nil {
		return nil, nil, err
	}
	for _, path := range read {
		if len(path) > 0 {
			fields = append(fields, path)
		}
	}
	slices.SortFunc(fields, slices.Compare)
	return e, fields, nil
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
		delete(f, n.Node) // the field inside it is the one that is read
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
