package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

func TestListsAreClosed(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "outcome.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{"Outcome": len(Outcomes()), "Reason": len(Reasons())}
	ast.Inspect(file, func(n ast.Node) bool {
		if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.CONST {
			kind := decl.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident).Name
			if len(decl.Specs) != listed[kind] {
				t.Errorf("%d constants of type %s, %d in its list", len(decl.Specs), kind, listed[kind])
			}
		}
		return true
	})
}
