package config

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sourceFiles lists the files of the package without its tests.
func sourceFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source: %v", err)
	}
	return slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

// The package reads a file and the environment and nothing else: no network, no broker.
func TestPackage_is_a_leaf(t *testing.T) {
	const module = "github.com/switchback-geo/switchback/"
	for _, name := range sourceFiles(t) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if own, ok := strings.CutPrefix(path, module); ok && !strings.HasPrefix(own, "pkg/") && own != "internal/urlpath" { // which is a leaf itself
				t.Errorf("%s imports %s", name, path)
			}
			if path == "net/http" || strings.Contains(path, "franz-go") {
				t.Errorf("%s imports %s, which reaches out", name, path)
			}
		}
	}
}
