package topojson

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Topology is a TopoJSON file: arcs that geometries share.
type Topology struct {
	Arcs    [][]orb.Point
	objects map[string]object
}

type object struct {
	Geometries []struct {
		Type string
		Arcs json.RawMessage
	}
}

// Shape is a Polygon or, if Multi is set, a MultiPolygon: the arcs of each ring of each polygon, as arguments of
// [Topology.Line].
type Shape struct {
	Multi    bool
	Polygons [][][]int
}

// Parse parses a file whose arcs are quantized differences.
func Parse(t testing.TB, text []byte) *Topology {
	t.Helper()
	var raw struct {
		Transform struct{ Scale, Translate [2]float64 }
		Arcs      [][][2]float64
		Objects   map[string]object
	}
	must.Do(t, json.Unmarshal(text, &raw))
	y := &Topology{Arcs: make([][]orb.Point, len(raw.Arcs)), objects: raw.Objects}
	for i, arc := range raw.Arcs {
		var at orb.Point
		for _, step := range arc {
			at[0], at[1] = at[0]+step[0], at[1]+step[1]
			y.Arcs[i] = append(y.Arcs[i], orb.Point{at[0]*raw.Transform.Scale[0] + raw.Transform.Translate[0], at[1]*raw.Transform.Scale[1] + raw.Transform.Translate[1]})
		}
	}
	return y
}

// Shapes returns the polygons of an object. It fails the test if there are none.
func (y *Topology) Shapes(t testing.TB, name string) (shapes []Shape) {
	t.Helper()
	for _, g := range y.objects[name].Geometries {
		s := Shape{Multi: g.Type == "MultiPolygon"}
		switch g.Type {
		case "MultiPolygon":
			must.Do(t, json.Unmarshal(g.Arcs, &s.Polygons))
		case "Polygon":
			s.Polygons = make([][][]int, 1)
			must.Do(t, json.Unmarshal(g.Arcs, &s.Polygons[0]))
		default:
			continue
		}
		shapes = append(shapes, s)
	}
	if len(shapes) == 0 {
		t.Fatalf("there are no polygons under %s", name)
	}
	return shapes
}

// Line returns an arc; ^n is arc n in the opposite direction.
func (y *Topology) Line(n int) []orb.Point {
	line := y.Arcs[max(n, ^n)]
	if n < 0 {
		line = slices.Clone(line)
		slices.Reverse(line)
	}
	return line
}
