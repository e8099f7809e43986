package transform

import (
	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// maxRepairPositions bounds the geometry that a repair is tried on.
const maxRepairPositions = 50_000

// repair puts a valid geometry in the place of one that is not, or refuses the
// feature. It never drops or adds area without saying so: the flag has the area
// of the rings before, and that of the polygons after.
//
// The method is that of the even-odd rule. The edges of all rings of a polygon
// are cut where they meet; an edge that is there twice bounds nothing and is left
// out (spikes, and rings that run over each other); what remains bounds the
// places that an odd number of rings surround. Around them new rings are laid. A
// bow-tie becomes two triangles, a ring that touches itself an exterior and a
// hole, a hole outside of its exterior a polygon of its own. Polygons that then
// still overlap are united. What comes out must be valid by the same gate.
//
// Lines of one position, and geometries with heights, which new positions would
// not have, are not repaired.
func (g *gating) repair(violation *Violation) error {
	why := ""
	switch {
	case g.geometry.Z != nil:
		why = "it has heights, and the positions of a repair have none"
	case g.geometry.Positions() > maxRepairPositions:
		why = "it has more than " + decimal(maxRepairPositions) + " positions"
	}
	if why == "" {
		r := repairer{}
		shape := r.shape(g.geometry.Shape)
		switch {
		case r.failed != "":
			why = r.failed
		case violationOf(shape, "/geometry") != nil:
			why = "it stays invalid"
		default:
			g.flag("repaired " + violation.Reason() + ", area " + areaText(r.before) + " to " + areaText(r.after))
			g.geometry.Shape, g.changed = shape, true
			return nil
		}
	}
	e := g.f.invalid(violation, classify.StageGate)
	e.Message += ", and cannot be repaired: " + why
	e.Fix = "mend the geometry, or set geometry.validity: flag"
	return e
}

// areaText writes an area.
func areaText(area float64) string { return string(appendFloat(nil, area)) }

// repairer repairs the parts of a geometry.
type repairer struct {
	before, after float64 // areas
	failed        string  // why it cannot be done
}

// shape repairs a geometry.
func (r *repairer) shape(shape orb.Geometry) orb.Geometry {
	switch shape := shape.(type) {
	case orb.LineString, orb.MultiLineString:
		if violationOf(shape, "") != nil {
			r.fail("a line of one position has no length")
		}
	case orb.Polygon:
		if violationOf(shape, "") == nil {
			return shape
		}
		return r.polygons(orb.MultiPolygon{shape}, true)
	case orb.MultiPolygon:
		if violationOf(shape, "") == nil {
			return shape
		}
		return r.polygons(shape, false)
	case orb.Collection:
		out := make(orb.Collection, len(shape))
		for i, member := range shape {
			out[i] = r.shape(member)
		}
		return out
	}
	return shape
}

func (r *repairer) fail(why string) { setDefault(&r.failed, why) }

// polygons repairs each polygon, and unites them when they overlap. With one the
// result is a Polygon when a single one is left.
func (r *repairer) polygons(polygons orb.MultiPolygon, one bool) orb.Geometry {
	r.before += areaOf(polygons)
	var out orb.MultiPolygon
	for _, polygon := range polygons {
		if violationOf(polygon, "") == nil {
			out = append(out, polygon)
			continue
		}
		parts, ok := evenOdd(polygon)
		if !ok {
			r.fail("its edges cannot be separated exactly")
			return nil
		}
		out = append(out, parts...)
	}
	if violationOf(out, "") != nil {
		united, ok := unite(out)
		if !ok {
			r.fail("its polygons cannot be united")
			return nil
		}
		out = united
	}
	if len(out) == 0 {
		r.fail("nothing is left of it")
		return nil
	}
	r.after += areaOf(out)
	if one && len(out) == 1 {
		return out[0]
	}
	return out
}

// unite unites valid polygons.
func unite(polygons orb.MultiPolygon) (united orb.MultiPolygon, ok bool) {
	defer func() {
		// The library panics where its own arithmetic contradicts itself, which
		// hostile coordinates can bring about.
		if recover() != nil {
			united, ok = nil, false
		}
	}()
	parts := make([]geom.Geometry, len(polygons))
	for i, polygon := range polygons {
		parts[i] = polygonOf(polygon).AsGeometry()
	}
	union, err := geom.UnionMany(parts)
	if err != nil {
		return nil, false
	}
	return polygonsOf(union, 0), true
}

// polygonOf converts a polygon for the library.
func polygonOf(polygon orb.Polygon) geom.Polygon {
	rings := make([]geom.LineString, len(polygon))
	for i, ring := range polygon {
		flat := make([]float64, 0, 2*len(ring))
		for _, p := range ring {
			flat = append(flat, p[0], p[1])
		}
		rings[i] = geom.NewLineString(geom.NewSequence(flat, geom.DimXY))
	}
	return geom.NewPolygon(rings)
}

// multiPolygonOf converts polygons for the library.
func multiPolygonOf(shape orb.MultiPolygon) geom.MultiPolygon {
	polygons := make([]geom.Polygon, len(shape))
	for i, polygon := range shape {
		polygons[i] = polygonOf(polygon)
	}
	return geom.NewMultiPolygon(polygons)
}
