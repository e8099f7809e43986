package ramp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

func TestGates_is_the_closed_list_of_the_source(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "ramp.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var inSource []Gate
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Gate" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			inSource = append(inSource, Gate(text))
		}
		return true
	})
	if !slices.Equal(inSource, Gates()) {
		t.Errorf("constants %v, Gates() %v", inSource, Gates())
	}
}
