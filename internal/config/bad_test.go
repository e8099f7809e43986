package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// update rewrites what the tests compare with: the golden files and the schema.
var update = flag.Bool("update", false, "rewrite golden files and the schema")

// Every bad file is held to the faults that stand beside it: one file per rule.
func TestBad_S0_1_every_rule_has_its_faults(t *testing.T) {
	for _, path := range badFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			faults := faultsOf(t, path)
			golden(t, strings.TrimSuffix(path, ".yaml")+".golden", faults.Error()+"\n")
			for _, f := range faults.List {
				if f.Line < 1 || f.Column < 1 {
					t.Errorf("no place: %+v", f)
				}
				if f.Message == "" || f.Fix == "" {
					t.Errorf("says not what is wrong and what to do: %+v", f)
				}
			}
			if strings.Contains(faults.Error(), "hunter2") || strings.Contains(faults.Error(), "2222") {
				t.Error("a fault shows a secret")
			}
		})
	}
}

func badFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no bad files: %v", err)
	}
	return files
}

// faultsOf loads a file that must have faults.
func faultsOf(t *testing.T, path string) *Faults {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Parse(filepath.Base(path), text, nil)
	var faults *Faults
	if !errors.As(err, &faults) {
		t.Fatalf("want faults, got %v", err)
	}
	return faults
}

// golden compares got with the text of a file, or rewrites the file with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update)", err)
	}
	if got != string(want) {
		t.Errorf("%s\n got:\n%s\nwant:\n%s", path, got, want)
	}
}
