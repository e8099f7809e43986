package crs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestClosedLists proves that each list function names every constant of its type
// that the source declares, once.
func TestClosedLists(t *testing.T) {
	declared := declaredConstants(t)
	for typeName, listed := range map[string][]string{
		"AxisOrder": words(AxisOrders()), "Unit": words(Units()), "Reason": words(Reasons()),
	} {
		want := declared[typeName]
		slices.Sort(want)
		slices.Sort(listed)
		if len(want) == 0 || !slices.Equal(want, listed) {
			t.Errorf("%s: declared %q, listed %q", typeName, want, listed)
		}
	}
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

// declaredConstants maps a type to the values of its typed string constants.
func declaredConstants(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil || strings.HasSuffix(file, "_test.go") {
			continue
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			name, ok := spec.Type.(*ast.Ident)
			for _, v := range spec.Values {
				if lit, isLit := v.(*ast.BasicLit); ok && isLit {
					text, _ := strconv.Unquote(lit.Value)
					out[name.Name] = append(out[name.Name], text)
				}
			}
			return true
		})
	}
	return out
}
