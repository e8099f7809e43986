package console

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/chromium"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// topology is a TopoJSON file.
type topology struct {
	Transform struct{ Scale, Translate [2]float64 }
	Arcs      [][][2]float64
	Objects   map[string]struct {
		Geometries []struct {
			Type string
			Arcs json.RawMessage
		}
	}
}

func readTopology(t *testing.T, text string) (out topology) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// rings returns the arcs of each ring of an object.
func (y topology) rings(t *testing.T, name string) (rings [][]int) {
	t.Helper()
	for _, g := range y.Objects[name].Geometries {
		var polygons [][][]int
		var err error
		switch g.Type {
		case "MultiPolygon":
			err = json.Unmarshal(g.Arcs, &polygons)
		case "Polygon":
			polygons = make([][][]int, 1)
			err = json.Unmarshal(g.Arcs, &polygons[0])
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range polygons {
			rings = append(rings, p...)
		}
	}
	return rings
}

// line returns an arc in hundredths of a degree; a negative number is an arc backwards.
func (y topology) line(arc int) (line [][2]int) {
	var x, z float64
	for _, step := range y.Arcs[max(arc, ^arc)] {
		x, z = x+step[0], z+step[1]
		line = append(line, [2]int{hundredths(x*y.Transform.Scale[0] + y.Transform.Translate[0]), hundredths(z*y.Transform.Scale[1] + y.Transform.Translate[1])})
	}
	if arc < 0 {
		slices.Reverse(line)
	}
	return line
}

func hundredths(v float64) int { return int(math.Round(v * 100)) }

func steps(kind string, line [][2]int) string {
	out, last := kind, [2]int{}
	for _, p := range slices.Compact(line) {
		out += fmt.Sprintf(" %d,%d", p[0]-last[0], p[1]-last[1])
		last = p
	}
	return out + "\n"
}

// The outlines that are in the program are those of the npm package. WORLD_UPDATE=1 writes them.
func TestWorld_S4_6_is_what_the_package_has(t *testing.T) {
	testrun.Nightly(t)
	land := readTopology(t, chromium.Script(t, "NPM_DIR", "world-atlas/land-110m.json"))
	countries := readTopology(t, chromium.Script(t, "NPM_DIR", "world-atlas/countries-110m.json"))
	var text strings.Builder
	for _, ring := range land.rings(t, "land") {
		var line [][2]int
		for _, arc := range ring {
			line = append(line, land.line(arc)...)
		}
		text.WriteString(steps("land", line))
	}
	used := map[int]int{}
	for _, ring := range countries.rings(t, "countries") {
		for _, arc := range ring {
			used[max(arc, ^arc)]++
		}
	}
	for arc := range countries.Arcs {
		if used[arc] > 1 {
			text.WriteString(steps("border", countries.line(arc)))
		}
	}
	if os.Getenv("WORLD_UPDATE") != "" {
		if err := os.WriteFile("page/world.txt", []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text.String() != worldText && os.Getenv("WORLD_UPDATE") == "" {
		t.Error("page/world.txt is not made of this package")
	}
}

func TestWorld_S4_6_has_land_and_sea(t *testing.T) {
	world, err := readWorld(worldText)
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[[2]float64]bool{{8.5, 47.3}: true, {-100, 40}: true, {135, -25}: true, {-30, 30}: false, {-150, 0}: false, {0, 0}: false} {
		inside := false
		for _, o := range world {
			if o.land && within(place, o.points) {
				inside = !inside
			}
		}
		if inside != want {
			t.Errorf("land at %v: %t", place, inside)
		}
	}
	if _, err := readWorld("land 1,x\n"); err == nil {
		t.Error("a broken file is read")
	}
}

// within reports whether a ray from a place crosses a ring an odd number of times.
func within(p [2]float64, ring [][2]float64) (in bool) {
	for i, a := range ring {
		b := ring[(i+1)%len(ring)]
		if (a[1] > p[1]) != (b[1] > p[1]) && p[0] < (b[0]-a[0])*(p[1]-a[1])/(b[1]-a[1])+a[0] {
			in = !in
		}
	}
	return in
}
