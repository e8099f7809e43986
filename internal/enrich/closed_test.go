package enrich

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// The lists that become metric labels hold every constant of their type.
func TestLists_are_closed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "status.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		for _, value := range spec.Values {
			text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			name := spec.Type.(*ast.Ident).Name
			found[name] = append(found[name], text)
		}
		return true
	})
	var circuits, outcomes []string
	for _, c := range Circuits() {
		circuits = append(circuits, string(c))
	}
	for _, o := range Outcomes() {
		outcomes = append(outcomes, string(o))
	}
	if !slices.Equal(found["Circuit"], circuits) || !slices.Equal(found["Outcome"], outcomes) || len(found) != 2 {
		t.Errorf("constants %v, lists %v and %v", found, circuits, outcomes)
	}
}
