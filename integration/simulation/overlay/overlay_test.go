package overlay

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The patches fit the versions in use: an upgrade fails here, and whoever makes it learns which of them are upstream by now.
func TestPrepare_thePatchesFitTheVersionsInUse(t *testing.T) {
	dir := t.TempDir()
	build, err := Prepare(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if build.Unrepeatable != nil {
		t.Errorf("runs are not repeatable with %s: %v", runtime.Version(), build.Unrepeatable)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "replace "+kfakeModule+" => "+dir) {
		t.Error("kfake is not replaced")
	}
	overlay, err := os.ReadFile(filepath.Join(dir, "overlay.json"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(overlay), "src/runtime/"); n != 2*6 {
		t.Errorf("%d paths of the runtime, want 6 files: %s", n, overlay)
	}
}
