package switchback_test

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

var update = flag.Bool("update", false, "redraw the diagram in docs/architecture.md")

const architecturePage = "docs/architecture.md"

// The picture is between these lines of the page.
const (
	pictureBegins = "```text diagram\n"
	pictureEnds   = "```\n"
)

// C-6: the package diagram matches the imports. `go test -run TestArchitecture -update .` redraws it.
func TestArchitecture_thePictureIsThatOfTheImports(t *testing.T) {
	text := must.Get(os.ReadFile(architecturePage))(t)
	before, rest, begins := strings.Cut(string(text), pictureBegins)
	drawn, after, ends := strings.Cut(rest, pictureEnds)
	must.That(t, begins && ends, "%s has no picture", architecturePage)
	picture := drawFloors(floors(packageImports(t)))
	if *update {
		must.Do(t, os.WriteFile(architecturePage, []byte(before+pictureBegins+picture+pictureEnds+after), 0o600))
	} else if drawn != picture {
		t.Errorf("%s shows\n%s\nthe imports are\n%s", architecturePage, drawn, picture)
	}
}

// packageImports returns the imports of each package of the product, without those of its tests.
func packageImports(t *testing.T) map[string][]string {
	imports := map[string][]string{}
	for _, f := range goFiles(t) {
		if f.test || within(f.dir, "internal/testkit") || !within(f.dir, "internal") && !within(f.dir, "cmd") && !within(f.dir, "pkg") {
			continue
		}
		own, _ := f.imports()
		imports[f.dir] = append(imports[f.dir], own...)
	}
	return imports
}

// floors puts each package above everything that it imports.
func floors(imports map[string][]string) [][]string {
	floor := map[string]int{}
	var of func(string) int
	of = func(dir string) int {
		if n, known := floor[dir]; known {
			return n
		}
		n := 0
		for _, imported := range imports[dir] {
			if _, ours := imports[imported]; ours {
				n = max(n, of(imported)+1)
			}
		}
		floor[dir] = n
		return n
	}
	var out [][]string
	for _, dir := range slices.Sorted(maps.Keys(imports)) {
		n := of(dir)
		for len(out) <= n {
			out = append(out, nil)
		}
		out[n] = append(out[n], dir)
	}
	return out
}

// drawFloors draws the highest floor first, within 80 columns.
func drawFloors(floors [][]string) string {
	const width, left = 80, 4
	var b strings.Builder
	for n, dirs := range slices.Backward(floors) {
		line := strconv.Itoa(n)
		line += strings.Repeat(" ", left-len(line))
		empty := len(line)
		for _, dir := range dirs {
			name := strings.TrimPrefix(dir, "internal/")
			if len(line) > empty && len(line)+2+len(name) > width {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", left)
			}
			if len(line) > left {
				line += "  "
			}
			line += name
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
