package switchback_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module   = "github.com/switchback-geo/switchback"
	maxLines = 500
)

// goFile is one parsed source file; its paths are slash-separated and relative to the root.
type goFile struct {
	path, dir string
	test      bool
	lines     int
	ast       *ast.File
	fset      *token.FileSet
}

// at returns the place of a node, as an editor understands it.
func (f goFile) at(n ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.fset.Position(n.Pos()).Line)
}

// imports returns the file's imports inside this module, relative to its root ("pkg/classify"), and
// all others as they are.
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

// walkTree calls visit with every file of the project, and leaves out what git does not keep.
func walkTree(t *testing.T, visit func(name string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "kafka-data"}, name):
			return filepath.SkipDir
		case d.Type().IsRegular():
			visit(filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("walk the tree: %v", err)
	}
}

func goFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	walkTree(t, func(name string) {
		if !strings.HasSuffix(name, ".go") || strings.Contains(name, "/testdata/") {
			return
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		files = append(files, goFile{
			path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"),
			lines: strings.Count(string(src), "\n"), ast: parsed, fset: fset,
		})
	})
	if len(files) < 10 {
		t.Fatalf("found only %d Go files: is this the root of the repository?", len(files))
	}
	return files
}

// mayImport says which parts of the module a part may use. A part that is not named here may not be
// added without a line here.
var mayImport = map[string][]string{
	".":               {},
	"pkg/classify":    {},
	"pkg/crs":         {},
	"pkg/transform":   {"pkg/classify", "pkg/crs"},
	"pkg/retrytopics": {"pkg/classify"},
	"pkg/idempotency": {"pkg/classify"},
	"schemas":         {},
	"examples":        {"pkg", "schemas", "examples"},
	"internal":        {"pkg", "internal", "schemas", "examples"},
	"cmd":             {"pkg", "internal", "schemas", "examples"},
	"integration":     {"pkg", "internal", "schemas", "examples", "integration"},
	"bench":           {"pkg", "internal", "schemas", "examples"},
	"deploy":          {"internal"},
	"docs":            {"internal"},
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

func TestTree_imports_go_one_way(t *testing.T) {
	for _, f := range goFiles(t) {
		part := partOf(f.dir)
		if part == "" {
			t.Errorf("%s: no rule says what this folder may import; add a line to mayImport", f.path)
			continue
		}
		own, _ := f.imports()
		for _, imported := range own {
			if imported == f.dir { // an external test package importing its own package
				continue
			}
			allowed := slices.ContainsFunc(mayImport[part], func(p string) bool { return within(imported, p) })
			if !allowed {
				t.Errorf("%s imports %s, but %s may import only %v", f.path, imported, part, mayImport[part])
			}
		}
	}
}

// C-6: the top level is that of the design card.
func TestTree_top_level(t *testing.T) {
	for _, name := range []string{
		"cmd/consumer", "cmd/replayer", "pkg/transform", "pkg/retrytopics", "pkg/classify", "pkg/idempotency",
		"schemas", "deploy", "go.mod", "integration",
	} {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("%v", err)
		}
	}
}

// C-5: the packages of the design card do the work. goavro waits for the Avro format.
func TestTree_packages(t *testing.T) {
	wanted := map[string]bool{
		"github.com/twmb/franz-go/": false, "github.com/paulmach/orb": false,
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
		if !used {
			t.Errorf("nothing imports %s", prefix)
		}
	}
}

// A test helper that reaches a binary brings its dependencies and its weaknesses along.
func TestTree_test_helpers_stay_out_of_binaries(t *testing.T) {
	helper := func(dir string) bool { return within(dir, "internal/testkit") || within(dir, "integration") }
	for _, f := range goFiles(t) {
		if f.test || helper(f.dir) {
			continue
		}
		own, foreign := f.imports()
		for _, imported := range own {
			if helper(imported) {
				t.Errorf("%s imports the test helper %s", f.path, imported)
			}
		}
		for _, imported := range foreign {
			if imported == "testing" || strings.HasPrefix(imported, "github.com/testcontainers/") {
				t.Errorf("%s imports %s, which is for tests", f.path, imported)
			}
		}
	}
}

func TestTree_every_package_says_what_it_is_for(t *testing.T) {
	docs, names := map[string]string{}, map[string]string{}
	for _, f := range goFiles(t) {
		if !f.test || names[f.dir] == "" {
			names[f.dir] = strings.TrimSuffix(f.ast.Name.Name, "_test")
		}
		if f.ast.Doc == nil {
			continue
		}
		if path.Base(f.path) == "doc.go" {
			docs[f.dir] = f.ast.Doc.Text()
		} else if !f.test {
			t.Errorf("%s: the package comment belongs into doc.go", f.path)
		}
	}
	for dir, name := range names {
		want := "Package " + name + " "
		if name == "main" {
			want = "Command " + path.Base(dir) + " "
		}
		switch doc := docs[dir]; {
		case doc == "":
			t.Errorf("%s has no doc.go with a package comment", dir)
		case !strings.HasPrefix(doc, want):
			t.Errorf("%s/doc.go must begin with %q", dir, want)
		case len(strings.Fields(doc)) < 12:
			t.Errorf("%s/doc.go says too little: what does the package do, and what does it refuse to do?", dir)
		}
	}
}

func TestTree_no_file_is_longer_than_500_lines(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.lines > maxLines {
			t.Errorf("%s has %d lines; at most %d: split it by what it is about", f.path, f.lines, maxLines)
		}
	}
}

// A skip hides a part that was not tested, so it has to say which part and why.
func TestTree_no_test_is_skipped_without_a_reason(t *testing.T) {
	for _, f := range goFiles(t) {
		if !f.test && !within(f.dir, "internal/testkit") && !within(f.dir, "integration") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch sel.Sel.Name {
			case "SkipNow":
				t.Errorf("%s: SkipNow gives no reason; use Skip with one", f.at(n))
			case "Skip", "Skipf":
				if !givesReason(call.Args) {
					t.Errorf("%s: the skip gives no reason: say what is missing, as a text", f.at(n))
				}
			}
			return true
		})
	}
}

// givesReason reports whether the arguments of a skip hold a text of at least three words, or a value
// that is only known when the test runs (an error, say).
func givesReason(args []ast.Expr) bool {
	if len(args) == 0 {
		return false
	}
	lit, ok := args[0].(*ast.BasicLit)
	return !ok || len(args) > 1 || len(strings.Fields(lit.Value)) >= 3
}

// A test that sleeps on the wall clock is slow on a good day and wrong on a bad one. In the bubble of testing/synctest
// time is virtual, and sleeping is how it is moved.
func TestTree_tests_sleep_only_in_virtual_time(t *testing.T) {
	for _, f := range goFiles(t) {
		if !f.test && !within(f.dir, "internal/testkit") && !within(f.dir, "integration") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && calls(call, "synctest", "Test") {
				return false // what happens inside is virtual
			}
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
	walkTree(t, func(name string) {
		if binaryFile.MatchString(name) || strings.Contains(name, "/testdata/fuzz/") {
			return
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if found := machinePath.FindString(line); found != "" {
				t.Errorf("%s:%d: %q is a path of one machine", name, i+1, found)
			}
		}
	})
}
