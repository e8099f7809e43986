package postgis

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/paulmach/orb"
)

// topology is a TopoJSON file: lines that geometries share, as quantized differences.
type topology struct {
	Transform struct{ Scale, Translate [2]float64 }
	Arcs      [][][2]float64
	Objects   map[string]struct{ Geometries []topoGeometry }
}

type topoGeometry struct {
	Type string
	Arcs json.RawMessage
}

// readTopology returns the polygons of an object of a TopoJSON file, decoded as
// topojson-client does: rings of fewer than four positions are filled up with their
// first one.
func readTopology(t *testing.T, file, object string) []orb.Geometry {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var topo topology
	if err := json.Unmarshal(text, &topo); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	arcs := make([][]orb.Point, len(topo.Arcs))
	for i, arc := range topo.Arcs {
		x, y := 0.0, 0.0
		for _, step := range arc {
			x, y = x+step[0], y+step[1]
			arcs[i] = append(arcs[i], orb.Point{x*topo.Transform.Scale[0] + topo.Transform.Translate[0], y*topo.Transform.Scale[1] + topo.Transform.Translate[1]})
		}
	}
	var out []orb.Geometry
	for _, g := range topo.Objects[object].Geometries {
		switch g.Type {
		case "Polygon":
			var rings [][]int
			mustUnmarshal(t, g.Arcs, &rings)
			out = append(out, stitched(arcs, rings))
		case "MultiPolygon":
			var polygons [][][]int
			mustUnmarshal(t, g.Arcs, &polygons)
			var shape orb.MultiPolygon
			for _, rings := range polygons {
				shape = append(shape, stitched(arcs, rings))
			}
			out = append(out, shape)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no polygons under %s", file, object)
	}
	return out
}

func mustUnmarshal(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// stitched makes a polygon of the numbers of its lines; ^i is line i the other way.
func stitched(arcs [][]orb.Point, rings [][]int) orb.Polygon {
	var out orb.Polygon
	for _, numbers := range rings {
		var ring orb.Ring
		for _, n := range numbers {
			line := arcs[max(n, ^n)]
			if n < 0 {
				line = slices.Clone(line)
				slices.Reverse(line)
			}
			if len(ring) > 0 {
				line = line[1:]
			}
			ring = append(ring, line...)
		}
		for len(ring) < 4 {
			ring = append(ring, ring[0])
		}
		out = append(out, ring)
	}
	return out
}
