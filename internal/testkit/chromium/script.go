package chromium

import (
	"os"
	"path/filepath"
	"testing"
)

// Script returns the text of a script in a folder of npm packages that an environment variable names. Without the
// variable, the test is skipped, or fails if a browser is required.
func Script(t testing.TB, variable, name string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" && os.Getenv(EnvForce) != "required" {
		t.Skipf("NOT RUN: %s is not set; .ci/nightly installs the packages and sets it to their node_modules", variable)
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatalf("%s=%q: %v", variable, dir, err)
	}
	return string(text)
}
