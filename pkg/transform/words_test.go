package transform

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

// TestClosedLists: each list function returns every constant of its type that
// the source has, and nothing else.
func TestClosedLists(t *testing.T) {
	declared := typedConstants(t)
	for name, list := range map[string][]string{
		"Type":         words(Types()),
		"OnError":      words(OnErrors()),
		"Unlisted":     words(Unlisteds()),
		"Unmapped":     words(Unmappeds()),
		"ArrayPolicy":  words(ArrayPolicies()),
		"Validity":     words(Validities()),
		"Acceptance":   words(Acceptances()),
		"DeclaredCRS":  words(DeclaredCRSs()),
		"Antimeridian": words(Antimeridians()),
		"Dimension":    words(Dimensions()),
		"BBoxPolicy":   words(BBoxPolicies()),
		"GeometryType": words(GeometryTypes()),
		"Kind":         words(Kinds()),
		"Rule":         words(Rules()),
	} {
		t.Run(name, func(t *testing.T) {
			slices.Sort(list)
			want := declared[name]
			slices.Sort(want)
			if !slices.Equal(list, want) || len(want) == 0 {
				t.Errorf("the list has %q, the source %q", list, want)
			}
			if len(slices.Compact(slices.Clone(list))) != len(list) {
				t.Errorf("%q has one word twice", list)
			}
		})
		delete(declared, name)
	}
	for name := range declared {
		t.Errorf("type %s has constants and no list here", name)
	}
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, word := range list {
		out[i] = string(word)
	}
	return out
}

// typedConstants returns the string constants of the package by their type.
func typedConstants(t *testing.T) map[string][]string {
	t.Helper()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string][]string{}
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			kind, ok := spec.Type.(*ast.Ident)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				word, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				constants[kind.Name] = append(constants[kind.Name], word)
			}
			return true
		})
	}
	return constants
}
