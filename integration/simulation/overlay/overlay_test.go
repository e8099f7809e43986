package overlay

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// The patches fit the versions in use: an upgrade fails here, and whoever makes it learns which of them are upstream by now.
func TestPrepare_thePatchesFitTheVersionsInUse(t *testing.T) {
	dir := t.TempDir()
	build := must.Get(Prepare(t.Context(), dir))(t)
	expect.That(t, build.Unrepeatable == nil, "runs are not repeatable with %s: %v", runtime.Version(), build.Unrepeatable)
	mod := must.Get(os.ReadFile(filepath.Join(dir, "go.mod")))(t)
	expect.That(t, strings.Contains(string(mod), "replace "+kfakeModule+" => "+dir), "kfake is not replaced")
	overlay := must.Get(os.ReadFile(filepath.Join(dir, "overlay.json")))(t)
	expect.Equal(t, strings.Count(string(overlay), "src/runtime/"), 2*6, "paths of the runtime", overlay)
}
