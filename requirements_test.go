package switchback_test

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

var (
	requirementRow  = regexp.MustCompile(`^\| ((?:C|S[0-4])-\d+) \| (.+) \| (.+) \|$`)
	requirementTest = regexp.MustCompile("\\[`(Test\\w+|Fuzz\\w+|Example\\w*)(/[^`\\]]+)?`\\]\\(([^)]+)\\)")
	openPart        = regexp.MustCompile(`\bopen: \S+ \S+`)
)

// requirementCount is the number of requirements in each source document.
func requirementCount() map[string]int {
	return map[string]int{"C": 7, "S0": 12, "S1": 9, "S2": 10, "S3": 8, "S4": 15}
}

// testSource is the source text of each test function with its comment, by file and name.
type testSource map[string]map[string]string

func readTestSource(t *testing.T) testSource {
	t.Helper()
	source := testSource{}
	for _, f := range goFiles(t) {
		if !f.test {
			continue
		}
		text := must.Get(os.ReadFile(f.path))(t)
		source[f.path] = map[string]string{}
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
				from := fn.Pos()
				if fn.Doc != nil {
					from = fn.Doc.Pos()
				}
				source[f.path][fn.Name.Name] = string(text[f.fset.Position(from).Offset:f.fset.Position(fn.End()).Offset])
			}
		}
	}
	return source
}

// TestRequirements compares docs/requirements.md with the tree: every requirement has its row, and a row either links
// to existing tests that name the requirement, or states which part of it is open.
func TestRequirements(t *testing.T) {
	const page = "docs/requirements.md"
	text := must.Get(os.ReadFile(page))(t)
	source, seen := readTestSource(t), map[string]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		row := requirementRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		at, id, proof := page+":"+strconv.Itoa(i+1), row[1], row[3]
		expect.That(t, !seen[id], "%s: a second row for %s", at, id)
		seen[id] = true
		links := requirementTest.FindAllStringSubmatch(proof, -1)
		expect.That(t, len(links) != 0 || openPart.MatchString(proof), "%s: %s has neither a test nor an \"open: what is missing\"", at, id)
		expect.That(t, strings.Count(proof, "](") == len(links), "%s: %s has a link that is not of the form [`TestName/case`](path)", at, id)
		for _, link := range links {
			source.check(t, at, id, link[1], link[2], path.Join("docs", link[3]))
		}
	}
	for document, count := range requirementCount() {
		for n := 1; n <= count; n++ {
			id := document + "-" + strconv.Itoa(n)
			expect.That(t, seen[id], "%s has no row for %s", page, id)
		}
	}
}

// check reports a link to a test that is not there or that does not name the requirement.
func (s testSource) check(t *testing.T, at, id, name, subtest, file string) {
	t.Helper()
	body, ok := s[file][name]
	switch {
	case s[file] == nil:
		t.Errorf("%s: %s links to %s, which is not a test file", at, id, file)
	case !ok:
		t.Errorf("%s: %s links to %s, which %s does not have", at, id, name, file)
	case !names(id).MatchString(body + subtest):
		t.Errorf("%s: %s in %s never names %s: put the ID into a case's name or the test's comment", at, name, file, id)
	case subtest != "" && !hasSubtest(body, subtest[1:]):
		t.Errorf("%s: %s has no case %q", at, name, subtest[1:])
	}
}

// names matches an ID in a text, or in a function's name, which cannot contain a hyphen: S0-8, S0_8, C-3, C_3, C3.
func names(id string) *regexp.Regexp {
	document, number, _ := strings.Cut(id, "-")
	between := "[-_]"
	if document == "C" {
		between = "[-_]?"
	}
	return regexp.MustCompile(`(?:^|[^A-Za-z0-9])` + document + between + number + `(?:\D|$)`)
}

// hasSubtest reports whether a test's source names the case. The test runner writes the spaces of a
// case's name as underscores.
func hasSubtest(body, name string) bool {
	return strings.Contains(strings.ReplaceAll(body, " ", "_"), name)
}
