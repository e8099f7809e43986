package repair

import (
	"math"
	"slices"
	"strconv"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry/coverage"
)

// unsure returns the JSON pointer of a polygon around a pole whose validity is uncertain, or "". It is certain if the
// edges of the result, except those on the meridian and at a pole, are those of the rings and meet only their
// neighbours, and if the rings enclose their area. The validity of the other polygons can be judged once they are
// unwrapped; these do not close then.
func (c *covering) unsure(result *coverage.Result) string {
	first := slices.Index(c.poles, true)
	if first < 0 {
		return ""
	}
	edges, touches := edgesOf(result.Polygons)
	want := 0
	for _, n := range c.edges {
		want += n
	}
	certain := edges == want && !touches
	for i, pole := range c.poles {
		certain = certain && (!pole || math.Abs(result.Parts[i]-c.written[i]) <= slack(c.written[i])+1e-11*lengthOf(c.polygons[i]))
	}
	switch {
	case certain:
		return ""
	case c.single:
		return c.path + "/coordinates"
	}
	return c.path + "/coordinates/" + strconv.Itoa(first)
}

// edgesOf counts the edges of polygons that do not run along the meridian or a pole, and reports whether more than two
// of them meet elsewhere.
func edgesOf(polygons orb.MultiPolygon) (edges int, touches bool) {
	ends := map[orb.Point]int{}
	for _, polygon := range polygons {
		for _, ring := range polygon {
			for i := 1; i < len(ring); i++ {
				if onSeam(ring[i-1], ring[i]) {
					continue
				}
				edges++
				for _, p := range ring[i-1 : i+1] {
					if ends[p]++; ends[p] > 2 && math.Abs(p[0]) < 180 {
						touches = true
					}
				}
			}
		}
	}
	return edges, touches
}
