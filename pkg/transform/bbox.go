package transform

import (
	"math"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// bboxSlack is how far, relative to the numbers and in the unit of the
// coordinates, a bbox may be off: writers compute it in their own arithmetic, and
// round it.
const bboxSlack = 1e-6

// bbox compares the feature's bbox with its geometry (RFC 7946 section 5).
func (g *gating) bbox() error {
	given := g.f.BBox
	if g.rules.BBox != BBoxCheck || given == nil || g.f.Geometry.IsNull() {
		return nil
	}
	computed := boxOf(g.geometry, g.cut || crossesMeridian(g.f.Geometry.Shape), len(given) == 6)
	if computed == nil {
		return nil
	}
	for i := range given {
		if i < len(computed) && math.Abs(given[i]-computed[i]) <= bboxSlack*max(1, math.Abs(computed[i])) {
			continue
		}
		e := encoder{}
		e.numbers(given...)
		return g.f.refuse(classify.CodeBBoxMismatch, RuleBBox, "/bbox", cut(string(e.out)), "the bbox is not that of the geometry",
			"leave it out, or set geometry.bbox: compute")
	}
	return nil
}

// boxOf returns the bbox of a geometry; nil when it has no position. Of one that
// crosses the antimeridian the west is greater than the east (section 5.2).
// withHeights asks for six numbers, and is ignored when no position has a height.
func boxOf(g Geometry, crosses, withHeights bool) []float64 {
	low, high, found := bounds(g.Shape)
	if !found {
		return nil
	}
	if crosses {
		low[0], high[0] = meridianBounds(g.Shape)
	}
	bottom, top := math.Inf(1), math.Inf(-1)
	for _, z := range g.Z {
		if !math.IsNaN(z) {
			bottom, top = min(bottom, z), max(top, z)
		}
	}
	if !withHeights || bottom > top {
		return []float64{low[0], low[1], high[0], high[1]}
	}
	return []float64{low[0], low[1], bottom, high[0], high[1], top}
}

// meridianBounds returns west and east of a shape on both sides of the 180th
// meridian.
func meridianBounds(shape orb.Geometry) (west, east float64) {
	west, east = 180, -180
	eachLine(shape, func(line []orb.Point) {
		for _, p := range line {
			if p[0] >= 0 {
				west = min(west, p[0])
			} else {
				east = max(east, p[0])
			}
		}
	})
	return west, east
}

// mapBBox sets the bbox of the target feature, after its geometry.
func (t *Transformer) mapBBox(f, out *Feature, changed, crosses bool) {
	switch t.config.Geometry.BBox {
	case BBoxDrop:
		out.BBox = nil
	case BBoxCompute:
		out.BBox = boxOf(out.Geometry, crosses, true)
	default:
		if changed && f.BBox != nil {
			out.BBox = boxOf(out.Geometry, crosses, len(f.BBox) == 6)
		}
	}
}
