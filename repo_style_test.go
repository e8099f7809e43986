package switchback_test

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// A test that sleeps on the wall clock measures the machine. In the bubble of testing/synctest time is virtual, and a test
// advances it by sleeping. The test judges whole files, because helpers are in the file of their test.
func TestTree_tests_sleep_only_in_virtual_time(t *testing.T) {
	for _, f := range goFiles(t) {
		if !f.test && !within(f.dir, "internal/testkit") && !within(f.dir, "integration") {
			continue
		}
		if _, foreign := f.imports(); slices.Contains(foreign, "testing/synctest") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && calls(call, "time", "Sleep") {
				t.Errorf("%s: sleeps on the wall clock; wait for a condition, or use testing/synctest", f.at(n))
			}
			return true
		})
	}
}

// calls reports whether a call is of the form pkg.name(…).
func calls(call *ast.CallExpr, pkg, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}

// binaryFile matches the files that hold no text.
var binaryFile = regexp.MustCompile(`\.(zst|gz|png|ico|db|avro|wkb|jar)$`)

// machinePath matches absolute paths that exist on one machine only.
var machinePath = regexp.MustCompile(`(?:^|[\s"'=(:` + "`" + `])/(?:work|root|home/\w+|Users/\w+|tmp/\w+)/[\w.]`)

func TestTree_text_speaks_of_no_single_machine(t *testing.T) {
	err := walkTree(func(name string) error {
		if binaryFile.MatchString(name) || strings.Contains(name, "/testdata/fuzz/") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			expect.Equal(t, machinePath.FindString(line), "", name, i+1, "is a path of one machine")
		}
		return nil
	})
	must.Do(t, err)
}

// TestLists_areClosed compares each function that lists the words of a type, such as func Kinds() []Kind, with the
// constants of the type: the function returns all of them, each once, and no two constants are the same word.
func TestLists_areClosed(t *testing.T) {
	constants := map[string]map[string]string{} // by folder and type: the words by their constants
	var lists []*list
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					collectWords(constants, f.dir, spec)
				}
			case *ast.FuncDecl:
				if l := listOf(f.dir, d); l != nil {
					lists = append(lists, l)
				}
			}
		}
	}
	checked := 0
	for _, l := range lists {
		words := constants[l.kind]
		if len(words) == 0 {
			continue // not a type of words
		}
		checked++
		want := slices.Sorted(maps.Keys(words))
		expect.That(t, slices.Equal(slices.Sorted(slices.Values(l.names)), want), "%s lists %q, the constants are %q", l.kind, l.names, want)
		expect.Equal(t, len(slices.Compact(slices.Sorted(maps.Values(words)))), len(words), l.kind, "two constants are one word", words)
	}
	expect.That(t, checked >= 50, "found %d lists: is the form of the functions another one now?", checked)
}

// list is a function that returns constants of a type: the folder and the type, and the names of the constants.
type list struct {
	kind  string
	names []string
}

// listOf returns the list that a function of the form func Kinds() []Kind { return []Kind{A, B} } returns, or nil. The
// name of the function is the plural of the type.
func listOf(dir string, f *ast.FuncDecl) *list {
	if f.Recv != nil || f.Type.Results == nil || len(f.Type.Results.List) != 1 || len(f.Type.Params.List) > 0 || len(f.Body.List) != 1 {
		return nil
	}
	slice, isSlice := f.Type.Results.List[0].Type.(*ast.ArrayType)
	returns, isReturn := f.Body.List[0].(*ast.ReturnStmt)
	if !isSlice || !isReturn {
		return nil
	}
	kind, isName := slice.Elt.(*ast.Ident)
	values, isLiteral := returns.Results[0].(*ast.CompositeLit)
	if !isName || !isLiteral || !plural(kind.Name).MatchString(f.Name.Name) {
		return nil
	}
	l := &list{kind: dir + "." + kind.Name}
	for _, value := range values.Elts {
		if name, ok := value.(*ast.Ident); ok {
			l.names = append(l.names, name.Name)
		}
	}
	return l
}

// plural matches the names of a function that lists the words of a type: Kinds or kinds, Statuses, Strategies.
func plural(kind string) *regexp.Regexp {
	return regexp.MustCompile("(?i)^" + strings.TrimSuffix(kind, "y") + "(y|ie)?(s|es)$")
}

// collectWords adds the string constants of a declaration whose type is written.
func collectWords(constants map[string]map[string]string, dir string, spec ast.Spec) {
	value, ok := spec.(*ast.ValueSpec)
	if !ok {
		return
	}
	kind, typed := value.Type.(*ast.Ident)
	if !typed {
		return
	}
	for i, v := range value.Values {
		if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			at := dir + "." + kind.Name
			if constants[at] == nil {
				constants[at] = map[string]string{}
			}
			constants[at][value.Names[i].Name] = lit.Value
		}
	}
}
