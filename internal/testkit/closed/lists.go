package closed

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// List is what the list function of one type returns.
type List struct {
	Type  string // name of the type
	words []string
}

// Of makes a List of what a list function returns.
func Of[T ~string](listed []T) List {
	l := List{Type: reflect.TypeFor[T]().Name()}
	for _, word := range listed {
		l.words = append(l.words, string(word))
	}
	return l
}

// Check reports every type whose list and constants differ, and every one of which two constants are the same word.
func Check(t testing.TB, lists ...List) {
	t.Helper()
	declared := Constants(t, ".")
	for _, l := range lists {
		want, have := slices.Sorted(slices.Values(declared[l.Type])), slices.Sorted(slices.Values(l.words))
		switch {
		case len(want) == 0:
			t.Errorf("%s: the source declares no constant of this type", l.Type)
		case !slices.Equal(want, have):
			t.Errorf("%s: the source declares %q, the list has %q", l.Type, want, have)
		case len(slices.Compact(have)) != len(want):
			t.Errorf("%s: one word stands for two things: %q", l.Type, want)
		}
	}
}

// Constants gives the values of all typed string constants of the Go files in a folder, tests left out, by type.
func Constants(t testing.TB, dir string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				collect(values, spec)
			}
			return true
		})
	}
	return values
}

func collect(values map[string][]string, spec *ast.ValueSpec) {
	kind, typed := spec.Type.(*ast.Ident)
	if !typed {
		return
	}
	for _, value := range spec.Values {
		if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				values[kind.Name] = append(values[kind.Name], text)
			}
		}
	}
}
