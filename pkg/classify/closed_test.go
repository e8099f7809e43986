package classify

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

// TestClosedLists proves that each list function names every constant of its type that the source declares, once.
func TestClosedLists(t *testing.T) {
	declared := declaredConstants(t)
	for typeName, listed := range map[string][]string{
		"Class": words(Classes()),
		"Level": words(Levels()),
		"Stage": words(Stages()),
		"Code":  words(Codes()),

		"Category": words(Categories()),
		"Alert":    words(Alerts()),
	} {
		t.Run(typeName, func(t *testing.T) {
			want := declared[typeName]
			if len(want) == 0 {
				t.Fatalf("the source declares no constant of type %s", typeName)
			}
			slices.Sort(want)
			slices.Sort(listed)
			if !slices.Equal(want, listed) {
				t.Errorf("declared and listed differ:\n declared %q\n listed   %q", want, listed)
			}
			if distinct := slices.Compact(slices.Clone(listed)); len(distinct) != len(listed) {
				t.Errorf("a word stands for two things: %q", listed)
			}
		})
	}
}

// TestCodesAreLabels proves that a code can be a metric label as it is.
func TestCodesAreLabels(t *testing.T) {
	for _, c := range Codes() {
		if c == "" || strings.Trim(string(c), "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Errorf("%q has other characters than small letters, digits and underscore", c)
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

// declaredConstants maps a type name to the values of all typed string constants in this package's source.
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
		p, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(p, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			name, typed := spec.Type.(*ast.Ident)
			if !typed {
				return true
			}
			for _, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, _ := strconv.Unquote(lit.Value)
					out[name.Name] = append(out[name.Name], text)
				}
			}
			return true
		})
	}
	return out
}
