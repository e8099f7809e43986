package switchback_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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
	"pkg/geometry":  {"pkg/classify"},
	"pkg/validity":  {"pkg/geometry/exact", "pkg/geometry/sweep"},
	"pkg/transform": {"pkg/classify", "pkg/crs", "pkg/geometry", "pkg/validity"},

	"pkg/geometry/exact":    {},
	"pkg/geometry/sweep":    {},
	"pkg/geometry/grid":     {},
	"pkg/geometry/noding":   {"pkg/geometry/exact", "pkg/geometry/grid", "pkg/geometry/sweep"},
	"pkg/geometry/coverage": {"pkg/geometry/exact", "pkg/geometry/noding", "pkg/validity"},
	"pkg/geometry/repair":   {"pkg/geometry/coverage", "pkg/geometry/grid", "pkg/geometry/noding", "pkg/validity"},

	"pkg/envelope":    {"pkg/classify", "pkg/crs", "pkg/geometry", "pkg/transform", "schemas", "pkg/envelope"},
	"pkg/retrytopics": {"pkg/classify", "pkg/idempotency", "internal/keyorder", "internal/recordbatch", "pkg/retrytopics"}, // the engine keeps the ledger
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
			t.Errorf("%s: no rule says what this folder may import; add a line to mayImport", f.path)
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
			if !allowed {
				t.Errorf("%s imports %s, but %s may import only %v", f.path, imported, part, mayImport[part])
			}
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
