package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// topology is the part of the TopoJSON specification 1.0 that us-atlas uses: quantized arcs that several polygons
// share, and collections of Polygon and MultiPolygon objects.
type topology struct {
	Transform struct {
		Scale, Translate [2]float64
	}
	Objects map[string]struct {
		Geometries []object
	}
	Arcs [][][2]float64
}

// object is one geometry of a collection. Arcs are numbers of arcs; ^n is arc n backwards.
type object struct {
	Type       string
	ID         string
	Properties json.RawMessage
	Arcs       json.RawMessage
}

// readTopology reads a TopoJSON file and turns the arcs' steps into longitudes and latitudes.
func readTopology(path string) (*topology, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the counties: %w", err)
	}
	t := &topology{}
	if err := json.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("decode %s: %w", path, err)
	}
	scale, origin := t.Transform.Scale, t.Transform.Translate
	for _, arc := range t.Arcs {
		var x, y float64
		for i, step := range arc {
			x, y = x+step[0], y+step[1]
			// The conversions forbid fused multiply-add, so that every machine writes the same bytes.
			arc[i] = [2]float64{float64(x*scale[0]) + origin[0], float64(y*scale[1]) + origin[1]}
		}
	}
	return t, nil
}

// ring joins arcs to one ring. The first position of an arc repeats the last of the arc before.
// A ring of fewer than four positions stays one: padding it would hide what the source has.
func (t *topology) ring(arcs []int) [][2]float64 {
	var ring [][2]float64
	for _, n := range arcs {
		backwards := n < 0
		if backwards {
			n = ^n
		}
		arc := slices.Clone(t.Arcs[n])
		if backwards {
			slices.Reverse(arc)
		}
		if len(ring) > 0 {
			arc = arc[1:]
		}
		ring = append(ring, arc...)
	}
	return ring
}

// polygon joins the rings of one polygon.
func (t *topology) polygon(rings [][]int) [][][2]float64 {
	var polygon [][][2]float64
	for _, arcs := range rings {
		polygon = append(polygon, t.ring(arcs))
	}
	return polygon
}
