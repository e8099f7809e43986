package switchback_test

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxLines is the most lines of a Go file.
const maxLines = 500

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
// time is virtual, and sleeping is how it is moved. Helpers of such a test stand in its file, so the file is what is judged.
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
