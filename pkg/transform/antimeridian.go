package transform

import (
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
)

// meridian applies the policy on the 180th meridian, and asks for validity: of a
// geometry that is to be cut, that of the one that is meant, not of the one
// around the rest of the world.
func (g *gating) meridian() error {
	policy := g.rules.Antimeridian
	if policy == AntimeridianIgnore || g.source.Unit() != crs.Degree || !crossesMeridian(g.geometry.Shape) {
		return g.valid()
	}
	const message = "the geometry crosses the 180th meridian"
	switch policy {
	case AntimeridianFlag:
		g.flag(string(RuleAntimeridian) + " (/geometry)")
		return g.valid()
	case AntimeridianReject:
		return g.f.refuse(classify.CodeAntimeridian, RuleAntimeridian, "/geometry", "", message, "cut it there (RFC 7946 section 3.1.9), or set geometry.antimeridian: cut")
	default: // decided below
	}
	if g.geometry.Z != nil {
		return g.uncut("it has heights, and the positions of the cut have none", "set geometry.dimension: drop_z, or cut it before")
	}
	whole, ok := unwrap(g.geometry.Shape)
	if !ok {
		return g.uncut("a ring goes round a pole", "cut it at a pole and along the meridian before, or set geometry.antimeridian: flag")
	}
	g.geometry.Shape = whole
	if err := g.valid(); err != nil {
		return err
	}
	if g.violation != nil {
		return g.uncut("it is not valid", "set geometry.validity: repair, or mend it")
	}
	parts, ok := cutShape(g.geometry.Shape)
	if !ok {
		return g.uncut("its parts do not add up to it", "cut it before")
	}
	g.geometry.Shape, g.cut, g.changed = parts, true, true
	return nil
}

func (g *gating) uncut(why, fix string) error {
	return g.f.refuse(classify.CodeAntimeridian, RuleAntimeridian, "/geometry", "", "the geometry crosses the 180th meridian and cannot be cut: "+why, fix)
}

// crossesMeridian reports whether two neighbouring positions of a line or ring
// are more than 180 degrees of longitude apart: then the short way between them
// crosses the 180th meridian.
func crossesMeridian(shape orb.Geometry) bool {
	crosses := false
	if members, ok := shape.(orb.Collection); ok {
		return slices.ContainsFunc(members, crossesMeridian)
	}
	if shape == nil || shape.Dimensions() == 0 {
		return false // points are no neighbours
	}
	eachLine(shape, func(line []orb.Point) {
		for i := 1; i < len(line) && !crosses; i++ {
			crosses = math.Abs(line[i][0]-line[i-1][0]) > 180
		}
	})
	return crosses
}

// unwrap returns a copy of a shape in which longitudes go on beyond 180 degrees
// instead of jumping. Holes and further polygons lie on the same side as the
// first ring of theirs. It is false for a ring that does not come back to where
// it began, as one round a pole.
func unwrap(shape orb.Geometry) (orb.Geometry, bool) {
	switch shape := shape.(type) {
	case orb.LineString:
		out := orb.LineString(unwrapLine(shape, math.NaN()))
		return out, true
	case orb.MultiLineString:
		out := make(orb.MultiLineString, len(shape))
		for i, line := range shape {
			out[i] = unwrapLine(line, math.NaN())
		}
		return out, true
	case orb.Polygon:
		return unwrapPolygon(shape)
	case orb.MultiPolygon:
		out := make(orb.MultiPolygon, len(shape))
		for i, polygon := range shape {
			unwrapped, ok := unwrapPolygon(polygon)
			if !ok {
				return nil, false
			}
			out[i] = unwrapped
		}
		return out, true
	case orb.Collection:
		out := make(orb.Collection, len(shape))
		for i, member := range shape {
			unwrapped, ok := unwrap(member)
			if !ok {
				return nil, false
			}
			out[i] = unwrapped
		}
		return out, true
	}
	return shape, true
}

// unwrapLine unwraps a line; the first position is brought within 180 degrees of
// near, unless that is NaN.
func unwrapLine(line []orb.Point, near float64) []orb.Point {
	out := make([]orb.Point, len(line))
	for i, p := range line {
		if !math.IsNaN(near) {
			p[0] += 360 * math.Round((near-p[0])/360)
		}
		out[i], near = p, p[0]
	}
	return out
}

func unwrapPolygon(polygon orb.Polygon) (orb.Polygon, bool) {
	out := make(orb.Polygon, len(polygon))
	near := math.NaN()
	for i, ring := range polygon {
		out[i] = unwrapLine(ring, near)
		if n := len(out[i]); n > 0 && out[i][0] != out[i][n-1] {
			return nil, false
		}
		if i == 0 && len(out[0]) > 0 {
			low, high, _ := bounds(out[0])
			near = (low[0] + high[0]) / 2
		}
	}
	return out, true
}

// cutShape cuts an unwrapped shape at the 180th meridian and brings its parts to
// ±180 degrees. It is false when they do not add up.
func cutShape(shape orb.Geometry) (orb.Geometry, bool) {
	switch shape := shape.(type) {
	case orb.LineString:
		return cutLines(orb.MultiLineString{shape}), true
	case orb.MultiLineString:
		return cutLines(shape), true
	case orb.Polygon:
		return cutPolygons(orb.MultiPolygon{shape})
	case orb.MultiPolygon:
		return cutPolygons(shape)
	case orb.Collection:
		out := make(orb.Collection, len(shape))
		for i, member := range shape {
			part, ok := cutShape(member)
			if !ok {
				return nil, false
			}
			out[i] = part
		}
		return out, true
	}
	return shape, true
}

// cutLines cuts lines where they go over an odd multiple of 180 degrees, between
// two positions or at one.
func cutLines(lines orb.MultiLineString) orb.MultiLineString {
	var out orb.MultiLineString
	for _, line := range lines {
		if len(line) == 0 {
			out = append(out, line)
			continue
		}
		cut := lineCut{part: orb.LineString{line[0]}, turn: math.NaN()}
		for i, p := range line[1:] {
			for _, edge := range meridiansBetween(line[i][0], p[0]) {
				share := (edge - line[i][0]) / (p[0] - line[i][0])
				cut.to(orb.Point{edge, line[i][1] + share*(p[1]-line[i][1])})
			}
			cut.to(p)
		}
		out = append(append(out, cut.done...), cut.world())
	}
	return out
}

// lineCut is a line on its way over the world.
type lineCut struct {
	done orb.MultiLineString
	part orb.LineString // since the last cut
	turn float64        // what shifts the part to ±180 degrees; NaN while it runs along the meridian
}

// to goes on to the next position, with no meridian in between. Where the way
// there lies in another turn of the world than the part, the part ends.
func (c *lineCut) to(p orb.Point) {
	last := c.part[len(c.part)-1]
	middle := (last[0] + p[0]) / 2
	turn := 360 * math.Round(middle/360)
	if math.Abs(middle-turn) < 180 { // it is 180 along the meridian, which belongs to both sides
		if !math.IsNaN(c.turn) && c.turn != turn {
			c.done = append(c.done, c.world())
			c.part = orb.LineString{last}
		}
		c.turn = turn
	}
	c.part = append(c.part, p)
}

// world is the part within ±180 degrees.
func (c *lineCut) world() orb.LineString {
	turn := c.turn
	if math.IsNaN(turn) {
		turn = 360 * math.Ceil((c.part[0][0]-180)/360)
	}
	out := make(orb.LineString, len(c.part))
	for i, p := range c.part {
		out[i] = orb.Point{p[0] - turn, p[1]}
	}
	return out
}

// meridiansBetween lists the odd multiples of 180 degrees strictly between two
// longitudes, in the order of the way.
func meridiansBetween(from, to float64) []float64 {
	var edges []float64
	for k := math.Ceil((min(from, to) - 180) / 360); 360*k+180 < max(from, to); k++ {
		if edge := 360*k + 180; edge > min(from, to) {
			edges = append(edges, edge)
		}
	}
	if from > to {
		for i, j := 0, len(edges)-1; i < j; i, j = i+1, j-1 {
			edges[i], edges[j] = edges[j], edges[i]
		}
	}
	return edges
}

// cutPolygons intersects valid polygons with each turn of the world that they
// reach into.
func cutPolygons(polygons orb.MultiPolygon) (cutUp orb.Geometry, ok bool) {
	defer func() {
		if recover() != nil { // see unite
			cutUp, ok = nil, false
		}
	}()
	low, high, _ := bounds(polygons)
	var out orb.MultiPolygon
	for turn := math.Floor((low[0]+180)/360) * 360; turn-180 < high[0]; turn += 360 {
		world := polygonOf(orb.Polygon{{{turn - 180, -90}, {turn + 180, -90}, {turn + 180, 90}, {turn - 180, 90}, {turn - 180, -90}}})
		part, err := geom.Intersection(multiPolygonOf(polygons).AsGeometry(), world.AsGeometry())
		if err != nil {
			return nil, false
		}
		out = append(out, polygonsOf(part, turn)...)
	}
	whole := areaOf(polygons)
	return out, math.Abs(areaOf(out)-whole) <= 1e-9*whole && violationOf(out, "") == nil
}

// polygonsOf returns the polygons of a result of the library, shifted by a turn.
func polygonsOf(g geom.Geometry, turn float64) []orb.Polygon {
	var out []orb.Polygon
	switch {
	case g.IsPolygon():
		polygon := g.MustAsPolygon()
		if polygon.IsEmpty() {
			return nil
		}
		rings := orb.Polygon{ringOf(polygon.ExteriorRing(), turn)}
		for i := range polygon.NumInteriorRings() {
			rings = append(rings, ringOf(polygon.InteriorRingN(i), turn))
		}
		return []orb.Polygon{rings}
	case g.IsMultiPolygon():
		parts := g.MustAsMultiPolygon()
		for i := range parts.NumPolygons() {
			out = append(out, polygonsOf(parts.PolygonN(i).AsGeometry(), turn)...)
		}
	case g.IsGeometryCollection(): // with the lines and points of a mere touch
		parts := g.MustAsGeometryCollection()
		for i := range parts.NumGeometries() {
			out = append(out, polygonsOf(parts.GeometryN(i), turn)...)
		}
	}
	return out
}

// ringOf converts a ring of the library, shifted by a turn. Positions of the cut
// lie exactly on the meridian.
func ringOf(line geom.LineString, turn float64) orb.Ring {
	sequence := line.Coordinates()
	ring := make(orb.Ring, sequence.Length())
	for i := range ring {
		at := sequence.GetXY(i)
		x := at.X - turn
		if math.Abs(math.Abs(x)-180) < 1e-12 {
			x = math.Copysign(180, x)
		}
		ring[i] = orb.Point{x, at.Y}
	}
	return ring
}

// areaOf returns the area of polygons in square units of their coordinates, as
// their rings have it: exteriors less holes.
func areaOf(polygons orb.MultiPolygon) float64 {
	area := 0.0
	for _, polygon := range polygons {
		for i, ring := range polygon {
			if part := math.Abs(doubledArea(ring)) / 2; i == 0 {
				area += part
			} else {
				area -= part
			}
		}
	}
	return area
}
