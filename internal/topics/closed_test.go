package topics

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

// TestClosedLists proves that each list function names every constant of its type that the source declares.
func TestClosedLists(t *testing.T) {
	declared := declaredConstants(t)
	for name, listed := range map[string][]string{
		"Role": words(Roles()), "Cleanup": words(Cleanups()), "FaultKind": words(FaultKinds()),
	} {
		want := declared[name]
		slices.Sort(want)
		slices.Sort(listed)
		if len(want) == 0 || !slices.Equal(want, listed) {
			t.Errorf("%s: declared %q, listed %q", name, want, listed)
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

func declaredConstants(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				if name, typed := spec.Type.(*ast.Ident); typed {
					for _, value := range spec.Values {
						if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
							text, _ := strconv.Unquote(lit.Value)
							out[name.Name] = append(out[name.Name], text)
						}
					}
				}
			}
			return true
		})
	}
	return out
}
