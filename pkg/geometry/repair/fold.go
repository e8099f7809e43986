package repair

import (
	"cmp"
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry/coverage"
)

// seam holds the places where the rings of one polygon cross the meridian.
type seam struct {
	crossings []crossing
	pole      float64 // latitude of the pole that a ring surrounds, or 0
	rings     []strip
}

// strip holds the signed area between a ring and the parallel of its first position, and the longitude that the ring
// gains: 0, or ±360 around a pole. sphere is the area between the ring and the equator on a sphere of radius 1.
type strip struct{ lat, area, east, sphere float64 }

type crossing struct{ lat, z float64 }

// fold cuts every ring at the meridian and closes the parts along it. The crossings of a polygon, sorted by latitude,
// form pairs. The meridian between the two crossings of a pair lies inside the polygon, on both sides of it. A crossing
// without a partner belongs to a ring around a pole, and its partner is the pole. In this way each polygon closes within
// ±180 degrees.
func (c *covering) fold() {
	rings := c.input.Lines
	c.input.Lines = nil
	for i := range c.polygons {
		var s seam
		for ; len(rings) > 0 && c.input.PolygonOf[rings[0].Ring] == int32(i); rings = rings[1:] {
			s.ring(c, rings[0])
		}
		c.poles[i] = s.pole != 0
		c.written[i], c.sphere[i] = s.areas()
		if len(s.crossings) == 0 {
			continue
		}
		c.input.PolygonOf = append(c.input.PolygonOf, int32(i))
		for _, line := range s.lines(c.heights != nil) {
			c.input.Lines = append(c.input.Lines, line.line(len(c.input.PolygonOf)-1, true))
		}
	}
}

// areas returns the area of the rings as they are written, in the plane and on the sphere: the exterior minus the holes.
// A ring around a pole has the area up to the pole.
func (s *seam) areas() (plane, sphere float64) {
	for i, ring := range s.rings {
		flat := math.Abs(ring.east*(s.pole-ring.lat) - ring.area)
		round := math.Abs(radians(ring.east)*math.Sin(radians(s.pole)) - ring.sphere)
		if i == 0 {
			plane, sphere = flat, round
		} else {
			plane, sphere = plane-flat, sphere-round
		}
	}
	return plane, sphere
}

// ring adds the parts of one ring.
func (s *seam) ring(c *covering, line coverage.Line) {
	whole := run{line.Positions, line.Heights}
	turns, before := 0, len(s.crossings)
	parts := parted(whole, true, func(lat, z float64, direction int) {
		s.crossings = append(s.crossings, crossing{lat, z})
		turns += direction
	})
	var own strip
	if len(line.Positions) > 0 {
		own.lat = line.Positions[0][1]
	}
	for _, part := range parts {
		c.input.Lines = append(c.input.Lines, part.line(line.Ring, false))
		for i := 1; i < len(part.positions); i++ {
			p, q := part.positions[i-1], part.positions[i]
			own.east += q[0] - p[0]
			own.area += (q[0] - p[0]) * ((p[1]-own.lat)/2 + (q[1]-own.lat)/2)
			own.sphere += underEdge(p, q)
			if p != q && !onSeam(p, q) {
				c.edges[line.Ring]++
			}
		}
	}
	own.east = 360 * math.Round(own.east/360)
	s.rings = append(s.rings, own)
	if (len(s.crossings)-before)%2 == 1 && s.pole == 0 {
		s.pole = nearerPole(parts, turns)
	}
}

// onSeam reports whether an edge runs along the meridian or a pole.
func onSeam(p, q orb.Point) bool {
	return math.Abs(p[0]) == 180 && p[0] == q[0] || alongPole(p, q)
}

// nearerPole returns the latitude of the pole that a ring around the world surrounds: the pole inside the smaller of the
// two areas into which the ring divides the sphere. If both are equal, it is the pole to the left of the ring.
func nearerPole(parts []run, turns int) float64 {
	south := 0.0 // excess of the area south of the ring, if the ring runs east
	for _, part := range parts {
		for i := 1; i < len(part.positions); i++ {
			p, q := part.positions[i-1], part.positions[i]
			south += (q[0] - p[0]) * math.Sin((p[1]+q[1])/2*math.Pi/180)
		}
	}
	if math.Signbit(float64(turns)) != math.Signbit(south) && south != 0 {
		return -90
	}
	if south == 0 && turns < 0 {
		return -90
	}
	return 90
}

// lines returns the paths along the meridian, on both of its sides, and along the pole.
func (s *seam) lines(withHeights bool) []run {
	slices.SortFunc(s.crossings, func(a, b crossing) int { return cmp.Compare(a.lat, b.lat) })
	at := s.crossings
	var out []run
	if len(at)%2 == 1 {
		end := crossing{s.pole, at[0].z}
		if s.pole > 0 {
			end.z = at[len(at)-1].z
			at = append(at, end)
		} else {
			at = slices.Insert(at, 0, end)
		}
		var pole run
		pole.add(orb.Point{-180, end.lat}, end.z, withHeights)
		pole.add(orb.Point{180, end.lat}, end.z, withHeights)
		out = append(out, pole)
	}
	for i := 0; i+1 < len(at); i += 2 {
		for _, lon := range [...]float64{-180, 180} {
			var way run
			way.add(orb.Point{lon, at[i].lat}, at[i].z, withHeights)
			way.add(orb.Point{lon, at[i+1].lat}, at[i+1].z, withHeights)
			out = append(out, way)
		}
	}
	return out
}
