package transform

import (
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
)

// mapGeometry transforms, rounds and winds the geometry of f into out.
//
// The two ordinates of the target system, degrees or metres, are rounded half
// away from zero; heights, which are metres, are not. OGC validity was judged on the input. Where rounding leaves
// nothing of a line or a ring (fewer distinct positions than it needs, or a
// ring without area), `validity: reject` refuses the feature with the rule
// collapsed_by_precision, and any other policy lets it pass with that reason and
// the whole geometry as it came. Rounding may also make a valid ring touch
// itself; that is not looked for.
func (t *Transformer) mapGeometry(f, out *Feature) error {
	from, err := t.prepared(f)
	if err != nil {
		return err
	}
	out.Geometry = from.geometry
	if target := t.systems.target; !wgs84(target) {
		out.CRS = target.Code()
	}
	if decimals := t.config.PrecisionDecimals; decimals != nil && !from.geometry.IsNull() {
		g := rounding{scale: math.Pow10(*decimals)}
		rounded := g.geometry(from.geometry.Shape, "/geometry")
		switch {
		case g.collapsed == "":
			out.Geometry.Shape, out.BBox = rounded, g.bbox(f.BBox)
		default:
			if err := t.collapse(f, out, g.collapsed); err != nil {
				return err
			}
		}
	}
	if needsWinding(out.Geometry.Shape) {
		out.Geometry = wind(out.Geometry)
	}
	if f.Geometry.IsNull() && f.BBox != nil {
		return t.mapLoneBBox(f, out, from.source)
	}
	t.mapBBox(f, out, from.changed, from.cut)
	return nil
}

// prepared returns what the gates made of the feature's geometry, in the target
// system. The feature may not have passed them: then its own geometry counts.
func (t *Transformer) prepared(f *Feature) (gated, error) {
	from := gated{geometry: f.Geometry}
	if f.gated != nil {
		from = *f.gated
	} else {
		source, err := t.sourceOf(f)
		if err != nil {
			return from, err
		}
		if from.source = source; source.AxisOrder() == crs.AxisYX {
			from.geometry = swapped(f.Geometry)
		}
	}
	if from.geometry.IsNull() {
		return from, nil
	}
	from.changed = from.changed || from.source.AxisOrder() == crs.AxisYX
	transform, err := t.systems.transform(from.source)
	if err != nil || transform == nil {
		return from, err
	}
	from.geometry, err = t.toTarget(f, from.source, transform, from.geometry)
	from.changed = true
	return from, err
}

// collapse is what becomes of a geometry that rounding leaves nothing of.
func (t *Transformer) collapse(f, out *Feature, path string) error {
	violation := &Violation{Rule: RuleCollapsed, Path: path}
	if out.Violation == nil {
		out.Violation = violation
	}
	if t.config.Geometry.Validity != ValidityReject {
		return nil
	}
	e := f.invalid(violation, classify.StageTransform)
	e.Fix = "raise tolerance.precision_decimal_threshold, or set geometry.validity: flag"
	return e
}

// rounding rounds copies of shapes.
type rounding struct {
	scale     float64 // 10^decimals
	collapsed string  // JSON pointer of the first part that nothing is left of
}

// ordinate rounds half away from zero, without a negative zero. What is too big
// to have that many decimals stays as it is.
func (g *rounding) ordinate(x float64) float64 {
	scaled := x * g.scale
	if !(math.Abs(scaled) < 1<<52) {
		return x
	}
	units := int64(scaled)
	switch rest := scaled - float64(units); { // exact
	case rest >= 0.5:
		units++
	case rest <= -0.5:
		units--
	}
	return float64(units) / g.scale
}

// bbox rounds a bbox. As rounding keeps the order of numbers, the rounded bbox
// is the bbox of the rounded geometry. Heights stay as they are.
func (g *rounding) bbox(bbox []float64) []float64 {
	rounded := slices.Clone(bbox)
	for i := range rounded {
		if len(rounded) == 4 || i%3 != 2 {
			rounded[i] = g.ordinate(rounded[i])
		}
	}
	return rounded
}

// points rounds a run of positions.
func (g *rounding) points(points []orb.Point) []orb.Point {
	rounded := make([]orb.Point, len(points))
	for i, p := range points {
		rounded[i] = orb.Point{g.ordinate(p[0]), g.ordinate(p[1])}
	}
	return rounded
}

// line rounds a line, which is part i of the shape at path, or all of it (-1).
func (g *rounding) line(line orb.LineString, path string, i int) orb.LineString {
	rounded := g.points(line)
	if distinct(rounded, 2) < 2 && distinct(line, 2) == 2 {
		g.collapse(path, i, -1)
	}
	return rounded
}

// polygon rounds a polygon, which is part part of the shape at path, or all of
// it (-1). Its rings share one row of positions.
func (g *rounding) polygon(polygon orb.Polygon, path string, part int) orb.Polygon {
	positions := 0
	for _, ring := range polygon {
		positions += len(ring)
	}
	row := make([]orb.Point, 0, positions)
	rounded := make(orb.Polygon, len(polygon))
	for i, ring := range polygon {
		begin := len(row)
		for _, p := range ring {
			row = append(row, orb.Point{g.ordinate(p[0]), g.ordinate(p[1])})
		}
		rounded[i] = row[begin:len(row):len(row)]
		// The doubled area of a ring on the grid is a multiple of a grid cell.
		flat := math.Abs(doubledArea(rounded[i])) < 0.5/g.scale/g.scale
		if flat && doubledArea(ring) != 0 || distinct(rounded[i], 3) < 3 && distinct(ring, 3) == 3 {
			g.collapse(path, part, i)
		}
	}
	return rounded
}

// collapse notes the first part that nothing is left of: a part of the shape at
// path, and a ring of it, as far as there are any (-1: none).
func (g *rounding) collapse(path string, part, ring int) {
	if g.collapsed != "" {
		return
	}
	g.collapsed = path + "/coordinates"
	for _, i := range [...]int{part, ring} {
		if i >= 0 {
			g.collapsed += "/" + decimal(i)
		}
	}
}

// geometry rounds a copy of a shape whose JSON pointer is path.
func (g *rounding) geometry(shape orb.Geometry, path string) orb.Geometry {
	switch shape := shape.(type) {
	case orb.Point:
		return orb.Point{g.ordinate(shape[0]), g.ordinate(shape[1])}
	case orb.MultiPoint:
		return orb.MultiPoint(g.points(shape))
	case orb.LineString:
		return g.line(shape, path, -1)
	case orb.MultiLineString:
		rounded := make(orb.MultiLineString, len(shape))
		for i, line := range shape {
			rounded[i] = g.line(line, path, i)
		}
		return rounded
	case orb.Polygon:
		return g.polygon(shape, path, -1)
	case orb.MultiPolygon:
		rounded := make(orb.MultiPolygon, len(shape))
		for i, polygon := range shape {
			rounded[i] = g.polygon(polygon, path, i)
		}
		return rounded
	case orb.Collection:
		rounded := make(orb.Collection, len(shape))
		for i, member := range shape {
			rounded[i] = g.geometry(member, path+"/geometries/"+decimal(i))
		}
		return rounded
	}
	return shape
}

// distinct counts the distinct positions, up to enough.
func distinct(points []orb.Point, enough int) int {
	var seen [3]orb.Point
	n := 0
	for _, p := range points {
		if n < enough && !slices.Contains(seen[:n], p) {
			seen[n] = p
			n++
		}
	}
	return n
}
