package world

import (
	"math"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/geometry"
)

// A projection to degrees returns each longitude within ±180, so the edges of a geometry that crosses the 180th
// meridian, or surrounds a pole, jump to the other side of the world. The functions here follow each edge in the source
// system. The geometry is then cut, refused or flagged (RFC 7946 section 3.1.9), and never written as a different one.

// projecting brings the lines and rings of one geometry to a target system in degrees.
type projecting struct {
	transform *crs.Transform
	slack     float64 // how far beyond ±180 a longitude counts as rounding, in degrees

	left    []float64 // heights of the positions still to come; nil when there are none
	heights []float64 // heights of the result
	crosses bool      // whether a line or ring leaves ±180 or surrounds a pole
	pole    float64   // the latitude of the pole that the last followed edge goes through, or 0
}

// unrolled is a line or ring with the number of turns around the world that each longitude needs so that none jumps. The
// longitudes themselves stay as projected, so that a ring closes with exactly the doubles with which it begins.
type unrolled struct {
	positions []orb.Point // longitudes within ±180
	turns     []float64
	heights   []float64
}

// lon returns the longitude of position i, which may lie beyond ±180.
func (u *unrolled) lon(i int) float64 { return u.positions[i][0] + 360*u.turns[i] }

// longEdge is the length in metres from which an edge may span half the world, and steepEdge the difference in longitude
// from which it may go the other way around. Shorter edges go the short way.
const (
	longEdge  = 10_000_000
	steepEdge = 90
)

// Unroll brings the longitudes of a projected shape to where they do not jump. from is the shape in the source system of
// transform; heights are those of both, or nil. slack is how far beyond ±180 a longitude counts as rounding. crosses reports
// whether the shape leaves ±180 or surrounds a pole; then its edges that cross go the short way, as package repair reads
// them.
func Unroll(transform *crs.Transform, slack float64, from, projected orb.Geometry, heights []float64) (shape orb.Geometry, z []float64, crosses bool) {
	p := &projecting{transform: transform, slack: slack, left: heights}
	if !p.needed(from, projected) {
		shape, _ = Clamped(projected)
		return shape, heights, false
	}
	shape = p.shape(from, projected)
	return shape, p.heights, p.crosses
}

// needed reports whether an edge of a line or ring may cross the 180th meridian or touch it.
func (p *projecting) needed(source, projected orb.Geometry) bool {
	found := false
	if low, high, some := geometry.Bounds(source); some && p.transform.From().Unit() != crs.Degree { // no edge is longer than the diagonal
		found = math.Hypot(high[0]-low[0], high[1]-low[1]) > longEdge
	}
	geometry.EachLine(projected, func(line []orb.Point) {
		for i, q := range line {
			found = found || math.Abs(q[0]) >= 180-p.slack || isPole(q) || i > 0 && math.Abs(q[0]-line[i-1][0]) > steepEdge
		}
	})
	return found
}

// shape returns a projected shape whose lines and rings lie within ±180 without a jump where they can. It notes in
// p.crosses that one cannot; then the edges that cross go the short way, as package repair reads them.
func (p *projecting) shape(source, projected orb.Geometry) orb.Geometry {
	switch projected := projected.(type) {
	case orb.LineString:
		return orb.LineString(p.line(source.(orb.LineString), projected, false))
	case orb.MultiLineString:
		out := make(orb.MultiLineString, len(projected))
		for i, line := range projected {
			out[i] = p.line(source.(orb.MultiLineString)[i], line, false)
		}
		return out
	case orb.Polygon:
		return p.polygon(source.(orb.Polygon), projected)
	case orb.MultiPolygon:
		out := make(orb.MultiPolygon, len(projected))
		for i, polygon := range projected {
			out[i] = p.polygon(source.(orb.MultiPolygon)[i], polygon)
		}
		return out
	case orb.Collection:
		out := make(orb.Collection, len(projected))
		for i, member := range projected {
			out[i] = p.shape(source.(orb.Collection)[i], member)
		}
		return out
	default: // points
		points, _ := Clamped(projected)
		geometry.EachLine(points, func(line []orb.Point) { p.heights = append(p.heights, p.take(len(line))...) })
		return points
	}
}

func (p *projecting) polygon(source, projected orb.Polygon) orb.Polygon {
	out := make(orb.Polygon, len(projected))
	for i, ring := range projected {
		out[i] = p.line(source[i], ring, true)
	}
	return out
}

// take returns the heights of the next n positions, or nil if the geometry has none.
func (p *projecting) take(n int) []float64 {
	if p.left == nil {
		return nil
	}
	taken := p.left[:n:n]
	p.left = p.left[n:]
	return taken
}

// line returns one line or ring within ±180.
func (p *projecting) line(source, projected []orb.Point, closed bool) []orb.Point {
	source, projected, z := p.atPoles(source, projected, p.take(len(projected)), closed)
	u := p.unroll(source, projected, z, false)
	if len(u.positions) == 0 {
		return u.positions
	}
	west, east := math.Inf(1), math.Inf(-1)
	for i := range u.positions {
		west, east = min(west, u.lon(i)), max(east, u.lon(i))
	}
	around := closed && u.turns[0] != u.turns[len(u.turns)-1]
	if turn := math.Round((west + east) / -720); !around && west+360*turn >= -180-p.slack && east+360*turn <= 180+p.slack {
		for i, q := range u.positions {
			u.positions[i] = Inside(orb.Point{q[0] + 360*(u.turns[i]+turn), q[1]})
		}
		p.heights = append(p.heights, u.heights...)
		return u.positions
	}
	p.crosses = true
	u = p.unroll(source, projected, z, true)
	for i, q := range u.positions {
		u.positions[i] = Inside(q)
	}
	p.heights = append(p.heights, u.heights...)
	return u.positions
}

// unroll follows the edges of a line in the source system. With halved set, an edge of half the world or more gets positions
// in between, so that each edge goes the short way.
func (p *projecting) unroll(source, projected []orb.Point, z []float64, halved bool) unrolled {
	out := unrolled{positions: make([]orb.Point, 0, len(projected))}
	height := func(i int) float64 {
		if z == nil {
			return math.NaN()
		}
		return z[i]
	}
	add := func(lon, turns, lat, h float64) {
		out.positions = append(out.positions, orb.Point{lon, lat})
		out.turns = append(out.turns, turns)
		if z != nil {
			out.heights = append(out.heights, h)
		}
	}
	for i, q := range projected {
		if i == 0 {
			add(q[0], 0, q[1], height(0))
			continue
		}
		before := out.lon(len(out.positions) - 1)
		p.pole = 0
		way := p.way(source[i-1], source[i], projected[i-1][0], q[0])
		if p.pole != 0 { // the edge goes up to the pole, along it, and down again
			for _, share := range [...]float64{0, 0.5, 1} {
				if share == 0 && isPole(projected[i-1]) || share == 1 && isPole(q) {
					continue // it begins or ends there
				}
				lon := before + share*way
				add(Wrapped(lon), math.Round((lon-Wrapped(lon))/360), p.pole, (height(i-1)+height(i))/2)
			}
		} else if pieces := int(math.Abs(way) / 120); halved && p.transform.From().Unit() != crs.Degree && math.Abs(way) >= 180 {
			for k := 1; k <= pieces; k++ {
				share := float64(k) / float64(pieces+1)
				lon := before + share*way
				add(Wrapped(lon), math.Round((lon-Wrapped(lon))/360), projected[i-1][1]+share*(q[1]-projected[i-1][1]), height(i-1)+share*(height(i)-height(i-1)))
			}
		}
		add(q[0], math.Round((before+way-q[0])/360), q[1], height(i))
	}
	return out
}

// way returns the difference in longitude along an edge. A source in degrees has it; a projected edge is followed.
func (p *projecting) way(a, b orb.Point, from, to float64) float64 {
	if p.transform.From().Unit() == crs.Degree {
		meant := b[0] - a[0]
		return meant + Wrapped(to-from-meant)
	}
	return p.follow(a, b, from, to, followed)
}

// followed is how often an edge is halved to follow it. An edge that still turns then goes through a pole.
const followed = 20

func (p *projecting) follow(a, b orb.Point, from, to float64, halvings int) float64 {
	short := Wrapped(to - from)
	if halvings == 0 && math.Abs(short) > steepEdge {
		if _, lat, err := p.transform.Forward(a[0], a[1]); err == nil {
			p.pole = math.Copysign(90, lat)
		}
	}
	if halvings == 0 || math.Hypot(b[0]-a[0], b[1]-a[1]) < longEdge && math.Abs(short) <= steepEdge {
		return short
	}
	mid := orb.Point{(a[0] + b[0]) / 2, (a[1] + b[1]) / 2}
	lon, lat, err := p.transform.Forward(mid[0], mid[1])
	if err != nil {
		return short
	}
	if isPole(orb.Point{lon, lat}) {
		p.pole = math.Copysign(90, lat)
		return short
	}
	first, second := Wrapped(lon-from), Wrapped(to-lon)
	if math.Abs(first) > steepEdge {
		first = p.follow(a, mid, from, lon, halvings-1)
	}
	if math.Abs(second) > steepEdge {
		second = p.follow(mid, b, lon, to, halvings-1)
	}
	return first + second
}
