package console

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/chromium"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topojson"
)

// rings returns the arcs of each ring.
func rings(shapes []topojson.Shape) (out [][]int) {
	for _, s := range shapes {
		for _, polygon := range s.Polygons {
			out = append(out, polygon...)
		}
	}
	return out
}

func hundredths(v float64) int { return int(math.Round(v * 100)) }

func steps(kind string, line []orb.Point) string {
	out, last := kind, [2]int{}
	var rounded [][2]int
	for _, p := range line {
		rounded = append(rounded, [2]int{hundredths(p[0]), hundredths(p[1])})
	}
	for _, p := range slices.Compact(rounded) {
		out += fmt.Sprintf(" %d,%d", p[0]-last[0], p[1]-last[1])
		last = p
	}
	return out + "\n"
}

// The outlines that are in the program are those of the npm package. WORLD_UPDATE=1 writes them.
func TestWorld_S4_6_is_what_the_package_has(t *testing.T) {
	testrun.Nightly(t)
	land := topojson.Parse(t, []byte(chromium.Script(t, "NPM_DIR", "world-atlas/land-110m.json")))
	countries := topojson.Parse(t, []byte(chromium.Script(t, "NPM_DIR", "world-atlas/countries-110m.json")))
	var text strings.Builder
	for _, ring := range rings(land.Shapes(t, "land")) {
		var line []orb.Point
		for _, arc := range ring {
			line = append(line, land.Line(arc)...)
		}
		text.WriteString(steps("land", line))
	}
	used := map[int]int{}
	for _, ring := range rings(countries.Shapes(t, "countries")) {
		for _, arc := range ring {
			used[max(arc, ^arc)]++
		}
	}
	for arc, line := range countries.Arcs {
		if used[arc] > 1 {
			text.WriteString(steps("border", line))
		}
	}
	if os.Getenv("WORLD_UPDATE") != "" {
		if err := os.WriteFile("page/world.txt", []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := pageFiles.ReadFile("page/world.txt"); (err != nil || text.String() != string(kept)) && os.Getenv("WORLD_UPDATE") == "" {
		t.Error("page/world.txt is not made of this package")
	}
}
