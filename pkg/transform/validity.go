package transform

import (
	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"
)

// violationOf returns the first OGC rule that a geometry breaks, or nil. Points
// break none. Winding is no rule here.
func violationOf(shape orb.Geometry, path string) (v *Violation) {
	// The library panics where its own arithmetic contradicts itself, which
	// hostile coordinates can bring about. Such a geometry is not called valid.
	defer func() {
		if recover() != nil {
			v = &Violation{Rule: RuleUndecided, Path: path}
		}
	}()
	at := path + "/coordinates"
	switch shape := shape.(type) {
	case orb.LineString:
		return validate(lineOf(shape), at)
	case orb.MultiLineString:
		for i, line := range shape {
			if v := validate(lineOf(line), at+"/"+decimal(i)); v != nil {
				return v
			}
		}
	case orb.Polygon:
		return refine(validate(polygonOf(shape), at), shape)
	case orb.MultiPolygon:
		return refine(validate(multiPolygonOf(shape), at), shape...)
	case orb.Collection:
		for i, member := range shape {
			if v := violationOf(member, path+"/geometries/"+decimal(i)); v != nil {
				return v
			}
		}
	}
	return nil
}

// validate asks the library. It takes any of its geometries.
func validate(g interface{ Validate() error }, path string) *Violation {
	if err := g.Validate(); err != nil {
		return translate(err, path)
	}
	return nil
}

// refine replaces the location of a ring that meets itself: the library gives
// the ring's first position, which does not help to find the fault.
func refine(v *Violation, polygons ...orb.Polygon) *Violation {
	if v == nil || v.Rule != RuleRingSimple {
		return v
	}
	for _, polygon := range polygons {
		for _, ring := range polygon {
			if ring[0] != (orb.Point{v.X, v.Y}) {
				continue
			}
			if at, found := selfIntersection(ring); found {
				v.X, v.Y = at[0], at[1]
				return v
			}
		}
	}
	return v
}

// lineOf converts a line.
func lineOf(points []orb.Point) geom.LineString {
	flat := make([]float64, 0, 2*len(points))
	for _, p := range points {
		flat = append(flat, p[0], p[1])
	}
	return geom.NewLineString(geom.NewSequence(flat, geom.DimXY))
}

// polygonOf converts a polygon.
func polygonOf(polygon orb.Polygon) geom.Polygon {
	rings := make([]geom.LineString, len(polygon))
	for i, ring := range polygon {
		rings[i] = lineOf(ring)
	}
	return geom.NewPolygon(rings)
}

// multiPolygonOf converts polygons.
func multiPolygonOf(shape orb.MultiPolygon) geom.MultiPolygon {
	polygons := make([]geom.Polygon, len(shape))
	for i, polygon := range shape {
		polygons[i] = polygonOf(polygon)
	}
	return geom.NewMultiPolygon(polygons)
}
