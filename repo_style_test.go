package switchback_test

import (
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
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
			if found := machinePath.FindString(line); found != "" {
				t.Errorf("%s:%d: %q is a path of one machine", name, i+1, found)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
