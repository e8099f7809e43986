package postgis

import (
	"os"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/topojson"
)

// readTopology returns the polygons of an object of a TopoJSON file, decoded as
// topojson-client does: rings of fewer than four positions are filled up with their
// first one.
func readTopology(t *testing.T, file, object string) []orb.Geometry {
	t.Helper()
	topology := topojson.Parse(t, must.Get(os.ReadFile(file))(t))
	var out []orb.Geometry
	for _, s := range topology.Shapes(t, object) {
		var shape orb.MultiPolygon
		for _, rings := range s.Polygons {
			shape = append(shape, stitched(topology, rings))
		}
		if s.Multi {
			out = append(out, shape)
		} else {
			out = append(out, shape[0])
		}
	}
	return out
}

// stitched makes a polygon of the numbers of its arcs.
func stitched(topology *topojson.Topology, rings [][]int) orb.Polygon {
	var out orb.Polygon
	for _, numbers := range rings {
		var ring orb.Ring
		for _, n := range numbers {
			line := topology.Line(n)
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
