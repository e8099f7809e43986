package switchback_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const module = "github.com/switchback-geo/switchback"

// goFile is one parsed source file; its paths are slash-separated and relative to the root.
type goFile struct {
	path, dir string
	test      bool
	ast       *ast.File
	fset      *token.FileSet
}

// at returns the place of a node, as an editor understands it.
func (f goFile) at(n ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.fset.Position(n.Pos()).Line)
}

// imports returns the file's imports inside this module, relative to its root ("pkg/classify"), and all others
// unchanged.
func (f goFile) imports() (own, foreign []string) {
	for _, spec := range f.ast.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		if rest, ok := strings.CutPrefix(name, module+"/"); ok {
			own = append(own, rest)
		} else if name != module {
			foreign = append(foreign, name)
		}
	}
	return own, foreign
}

// walkTree calls visit with every file of the project, and leaves out files that git ignores.
func walkTree(visit func(name string) error) error {
	return filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "kafka-data"}, name):
			return filepath.SkipDir
		case d.Type().IsRegular() && name != ".git": // a file in a worktree
			return visit(filepath.ToSlash(name))
		}
		return nil
	})
}

// goFiles returns the parsed source files of the project.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	files := must.Get(parseAll())(t)
	return files
}

// parseAll parses the files once for all tests.
var parseAll = sync.OnceValues(func() ([]goFile, error) {
	var files []goFile
	err := walkTree(func(name string) error {
		if !strings.HasSuffix(name, ".go") || strings.Contains(name, "/testdata/") {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		files = append(files, goFile{path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), ast: parsed, fset: fset})
		return err
	})
	return files, err
})

// mayImport lists the parts of the module, and which other parts each of them may import. Any test may import the test kit.
var mayImport = map[string][]string{
	".":             {},
	"pkg/classify":  {},
	"pkg/crs":       {},
	"pkg/geometry":  {"pkg/classify", "pkg/internal/shorten"},
	"pkg/validity":  {"pkg/geometry/exact", "pkg/geometry/sweep"},
	"pkg/transform": {"pkg/classify", "pkg/crs", "pkg/geometry", "pkg/internal/shorten", "pkg/transform", "pkg/validity"},

	"pkg/internal/shorten": {},

	"pkg/transform/internal/expression": {"pkg/internal/shorten", "pkg/transform/internal/numbers"},
	"pkg/transform/internal/numbers":    {},
	"pkg/transform/internal/shapes":     {"pkg/geometry"},
	"pkg/transform/internal/times":      {"pkg/transform/internal/numbers"},
	"pkg/transform/internal/units":      {},
	"pkg/transform/internal/world":      {"pkg/crs", "pkg/geometry"},

	"pkg/geometry/exact":    {},
	"pkg/geometry/sweep":    {"pkg/geometry/exact"},
	"pkg/geometry/grid":     {},
	"pkg/geometry/noding":   {"pkg/geometry/exact", "pkg/geometry/grid", "pkg/geometry/sweep"},
	"pkg/geometry/coverage": {"pkg/geometry/exact", "pkg/geometry/noding", "pkg/validity"},
	"pkg/geometry/repair":   {"pkg/geometry", "pkg/geometry/coverage", "pkg/geometry/grid", "pkg/geometry/noding", "pkg/validity"},

	"pkg/envelope":    {"pkg/classify", "pkg/crs", "pkg/geometry", "pkg/internal/shorten", "pkg/transform", "schemas", "pkg/envelope"},
	"pkg/retrytopics": {"pkg/classify", "pkg/idempotency", "internal/keyorder", "internal/recordbatch", "pkg/retrytopics"}, // the engine stores the ledger
	"pkg/idempotency": {"pkg/classify"},

	"pkg/retrytopics/header": {"pkg/classify"},
	"pkg/retrytopics/policy": {"pkg/classify", "pkg/retrytopics/header"},

	"internal/recordbatch": {},
	"internal/keyorder":    {"pkg/retrytopics/header", "pkg/retrytopics/policy"},
	"schemas":              {},
	"examples":             {"pkg", "schemas", "examples"},
	"internal":             {"pkg", "internal", "schemas", "examples"},
	"cmd":                  {"pkg", "internal", "schemas", "examples"},
	"integration":          {"pkg", "internal", "schemas", "examples", "integration"},
	"bench":                {"pkg", "internal", "schemas", "examples"},
	"deploy":               {"internal"},
	"docs":                 {"internal"},
}

// partOf returns the longest part that holds dir, or "".
func partOf(dir string) string {
	for part := dir; part != "."; part = path.Dir(part) {
		if _, ok := mayImport[part]; ok {
			return part
		}
	}
	if dir == "." {
		return "."
	}
	return ""
}

func within(dir, part string) bool { return dir == part || strings.HasPrefix(dir, part+"/") }

// C-6: the parts of the design exist, there are no others, and each imports only what mayImport allows.
func TestTree_imports_go_one_way(t *testing.T) {
	there := map[string]bool{}
	for _, f := range goFiles(t) {
		part := partOf(f.dir)
		there[part] = true
		if part == "" {
			t.Errorf("%s: no rule covers the imports of this folder; add a line to mayImport", f.path)
			continue
		}
		own, _ := f.imports()
		for _, imported := range own {
			if imported == f.dir { // an external test package importing its own package
				continue
			}
			if f.test && within(imported, "internal/testkit") {
				continue
			}
			allowed := slices.ContainsFunc(mayImport[part], func(p string) bool { return within(imported, p) })
			expect.That(t, allowed, "%s imports %s, but %s may import only %v", f.path, imported, part, mayImport[part])
		}
	}
	for part := range mayImport {
		expect.That(t, there[part], "%s has no Go file", part)
	}
}

// C-5: the packages of the design card do the work.
func TestTree_packages(t *testing.T) {
	wanted := map[string]bool{
		"github.com/twmb/franz-go/": false, "github.com/paulmach/orb": false, "github.com/linkedin/goavro/": false,
		"github.com/prometheus/client_golang/": false, "github.com/testcontainers/testcontainers-go": false,
	}
	for _, f := range goFiles(t) {
		_, foreign := f.imports()
		for _, imported := range foreign {
			for prefix := range wanted {
				wanted[prefix] = wanted[prefix] || strings.HasPrefix(imported, prefix)
			}
		}
	}
	for prefix, used := range wanted {
		expect.That(t, used, "nothing imports %s", prefix)
	}
}

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

// binaryFile matches the files that are not text.
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
	expect.That(t, checked >= 50, "found %d lists: has the form of the functions changed?", checked)
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
