package envelope

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// TestClosedLists proves that each list function names every constant of its
// type that the source declares, once.
func TestClosedLists(t *testing.T) {
	for name, listed := range map[string][]string{
		"Format": texts(Formats()), "Split": texts(Splits()), "Unsupported": texts(Unsupporteds()), "Serialization": texts(Serializations()),
		"GeometryFormat": texts(GeometryFormats()), "Rule": texts(Rules()),
	} {
		file := "format.go"
		if name == "Rule" {
			file = "error.go"
		}
		want := declared(t, file, name)
		if len(want) == 0 || !slices.Equal(want, listed) {
			t.Errorf("%s: declared %q, listed %q", name, want, listed)
		}
		if slices.Sort(listed); len(slices.Compact(listed)) != len(want) {
			t.Errorf("%s: one word stands for two things", name)
		}
	}
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

// declared returns the values of the constants of a type, in their order.
func declared(t *testing.T, file, name string) []string {
	t.Helper()
	source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(source, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		kind, ok := spec.Type.(*ast.Ident)
		if !ok || kind.Name != name {
			return true
		}
		for _, value := range spec.Values {
			word, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, word)
		}
		return true
	})
	return found
}
