package transform

import (
	"math"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/geometry"
)

// assemble builds the orb geometry once all members of its object were read,
// and checks its structure.
func (d *decoder) assemble(g *geometryObject) (orb.Geometry, error) {
	switch {
	case g.kind == "":
		return nil, d.incomplete(g, "the geometry has no type", "add the type")
	case g.kind == GeometryCollection && !g.geometries:
		return nil, d.incomplete(g, "the GeometryCollection has no geometries", "add geometries; an empty array is allowed")
	case g.kind != GeometryCollection && !g.coordinates:
		return nil, d.incomplete(g, "the geometry has no coordinates", "add coordinates; an empty array has no position")
	case g.kind == GeometryCollection:
		return g.members, nil
	}
	if err := d.nesting(g.kind); err != nil {
		return nil, err
	}
	switch points := append([]orb.Point{}, d.points...); g.kind {
	case Point:
		if len(points) == 0 {
			return geometry.EmptyPoint(), nil
		}
		return points[0], nil
	case MultiPoint:
		return orb.MultiPoint(points), nil
	case LineString:
		if len(points) == 0 {
			return orb.LineString{}, nil
		}
		return orb.LineString(points), d.line(points, d.levels[1].ends[0].start)
	case MultiLineString:
		return d.multiLineString(points)
	case Polygon:
		rings, err := d.ringsAt(2, points)
		return orb.Polygon(rings), err
	default:
		return d.multiPolygon(points)
	}
}

func (d *decoder) incomplete(g *geometryObject, message, fix string) error {
	return d.misplaced(RuleMemberMissing, g.start, message, fix)
}

// depthOf returns the level of nesting of the positions of a type.
func depthOf(kind GeometryType) int {
	switch kind {
	case Point:
		return 1
	case LineString, MultiPoint:
		return 2
	case Polygon, MultiLineString:
		return 3
	default:
		return 4
	}
}

// nesting checks that positions are at the level that the type requires, and that no empty array replaces a position.
func (d *decoder) nesting(kind GeometryType) error {
	want := depthOf(kind)
	if d.deep != 0 && d.deep != want {
		return d.misplaced(RuleNesting, d.first,
			"the coordinates are not nested as those of a "+string(kind), "check the type, or see RFC 7946 section 3.1")
	}
	for deeper := want + 1; deeper <= maxLevels; deeper++ {
		if l := d.levels[deeper]; l.count > 0 { // they are empty: d.deep is 0 or want
			return d.misplaced(RuleNesting, l.ends[0].start,
				"the coordinates are nested deeper than those of a "+string(kind), "check the type, or see RFC 7946 section 3.1")
		}
	}
	switch empty := d.levels[want].empty; {
	case empty < 0 || kind == Point:
		return nil
	case kind == MultiPoint:
		return d.fail(fault{code: classify.CodeGeometryEmpty, rule: RuleEmptyGeometry, start: empty, earlier: true,
			message: "a MultiPoint has an empty point, which GeoJSON cannot represent", fix: "leave the point out"})
	default:
		return d.misplaced(RulePositionSize, empty, "a position has no ordinates", "write longitude and latitude")
	}
}

// misplaced returns the error for a wrong structure of the geometry that begins before the last token.
func (d *decoder) misplaced(rule Rule, start int64, message, fix string) error {
	return d.fail(fault{code: classify.CodeGeometryStructure, rule: rule, start: start, earlier: true, message: message, fix: fix})
}

// line checks the positions of a line (RFC 7946 section 3.1.4).
func (d *decoder) line(points []orb.Point, start int64) error {
	if len(points) >= 2 {
		return nil
	}
	return d.misplaced(RuleLineLength, start, "a line has fewer than two positions", "add a position, or send a Point")
}

func (d *decoder) multiLineString(points []orb.Point) (orb.Geometry, error) {
	ends := d.levels[2].ends
	lines := make(orb.MultiLineString, len(ends))
	begin := 0
	for i, end := range ends {
		line := points[begin:end.children:end.children]
		if len(line) > 0 { // the gate judges empty ones
			if err := d.line(line, end.start); err != nil {
				return nil, err
			}
		}
		lines[i], begin = line, end.children
	}
	return lines, nil
}

// ringsAt returns the rings, which are the arrays at a level. They share one slice of positions.
func (d *decoder) ringsAt(at int, points []orb.Point) ([]orb.Ring, error) {
	ends := d.levels[at].ends
	rings := make([]orb.Ring, len(ends))
	begin := 0
	for i, end := range ends {
		if err := d.ring(points, begin, end); err != nil {
			return nil, err
		}
		rings[i], begin = points[begin:end.children:end.children], end.children
	}
	return rings, nil
}

// ring checks the positions [begin, end) (RFC 7946 section 3.1.6).
func (d *decoder) ring(points []orb.Point, begin int, end arrayEnd) error {
	if n := end.children - begin; n < 4 {
		return d.misplaced(RuleRingLength, end.start, "a ring has "+decimal(n)+" positions, fewer than four",
			"a ring has at least three corners and ends where it begins")
	}
	first, last := begin, end.children-1
	if points[first] == points[last] && d.sameHeight(first, last) {
		return nil
	}
	return d.misplaced(RuleRingClosed, end.start, "a ring is not closed", "repeat its first position, height included, at its end")
}

// sameHeight compares the heights of two positions of this geometry.
func (d *decoder) sameHeight(i, j int) bool {
	before := d.total - len(d.points)
	a, b := d.heightAt(before+i), d.heightAt(before+j)
	return a == b || math.IsNaN(a) && math.IsNaN(b)
}

func (d *decoder) heightAt(i int) float64 {
	if i < len(d.z) {
		return d.z[i]
	}
	return math.NaN()
}

func (d *decoder) multiPolygon(points []orb.Point) (orb.Geometry, error) {
	rings, err := d.ringsAt(3, points)
	if err != nil {
		return nil, err
	}
	ends := d.levels[2].ends
	polygons := make(orb.MultiPolygon, len(ends))
	begin := 0
	for i, end := range ends {
		polygons[i], begin = rings[begin:end.children:end.children], end.children
	}
	return polygons, nil
}
