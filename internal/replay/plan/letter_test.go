package plan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

func TestActions_is_the_closed_list_of_the_source(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "letter.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var inSource []Action
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Action" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			inSource = append(inSource, Action(text))
		}
		return true
	})
	if !slices.Equal(inSource, Actions()) {
		t.Errorf("constants %v, Actions() %v", inSource, Actions())
	}
}
