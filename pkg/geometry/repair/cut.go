package repair

import (
	"context"
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry/coverage"
)

// Cut cuts a geometry in degrees at the 180th meridian (RFC 7946 section 3.1.9). It closes a ring around a pole at the
// nearer pole. It repairs invalid polygons; [Result.Overlap], [Result.Unsure] and [Unwrapped] tell whether that was
// necessary. Longitudes must be within ±180. The error is an [*Error], or that of the context.
func Cut(ctx context.Context, shape orb.Geometry, heights []float64, limits Limits) (*Result, error) {
	w := &worker{ctx: ctx, limits: limits, heights: heights, cut: true}
	return w.run(shape)
}

// Crosses reports whether a geometry in degrees crosses the 180th meridian.
func Crosses(shape orb.Geometry) bool {
	switch shape := shape.(type) {
	case orb.LineString:
		return crossesLine(shape)
	case orb.MultiLineString:
		return slices.ContainsFunc(shape, crossesLine)
	case orb.Polygon:
		return crossesPolygon(shape)
	case orb.MultiPolygon:
		return slices.ContainsFunc(shape, crossesPolygon)
	case orb.Collection:
		return slices.ContainsFunc(shape, Crosses)
	}
	return false
}

// crossesLine ignores a line that only goes from one side of the meridian to the other, because it has no length.
func crossesLine(line orb.LineString) bool {
	across := false
	for i, r := 1, read(line, false); i < len(line); i++ {
		if r.over(i) {
			across = true
		}
	}
	return across && len(cutLine(run{positions: line})) > 0
}

func crossesPolygon(polygon orb.Polygon) bool {
	for _, ring := range polygon {
		for i, r := 1, read(ring, true); i < len(ring); i++ {
			if r.over(i) {
				return true
			}
		}
	}
	return false
}

// run is a part of a line or ring with its heights, or nil heights if there are none.
type run struct {
	positions []orb.Point
	heights   []float64
}

// quartered returns a ring whose edges around the whole world have positions in between, so that no part of them seems
// to cross the meridian.
func (r run) quartered() run {
	var out run
	withHeights := r.heights != nil
	meant := read(r.positions, true)
	for i, p := range r.positions {
		if i > 0 && math.Abs(p[0]-r.positions[i-1][0]) == 360 && !meant.over(i) {
			q, z := r.positions[i-1], r.height(i-1)
			for _, share := range [...]float64{0.25, 0.5, 0.75} {
				out.add(orb.Point{q[0] + share*(p[0]-q[0]), q[1] + share*(p[1]-q[1])}, z+share*(r.height(i)-z), withHeights)
			}
		}
		out.add(p, r.height(i), withHeights)
	}
	return out
}

func (r *run) height(i int) float64 {
	if r.heights == nil {
		return math.NaN()
	}
	return r.heights[i]
}

func (r *run) add(p orb.Point, z float64, withHeights bool) {
	r.positions = append(r.positions, p)
	if withHeights {
		r.heights = append(r.heights, z)
	}
}

func (r *run) line(ring int, added bool) coverage.Line {
	return coverage.Line{Positions: r.positions, Heights: r.heights, Ring: ring, Added: added}
}

// parted cuts a run wherever it crosses the meridian. It calls crossed with the latitude, the height and the direction:
// 1 to the east, -1 to the west.
func parted(whole run, closed bool, crossed func(lat, z float64, direction int)) []run {
	withHeights := whole.heights != nil
	meant := read(whole.positions, closed)
	var out []run
	var part run
	for i, p := range whole.positions {
		if i > 0 {
			if q := whole.positions[i-1]; meant.over(i) {
				edge, direction := 180.0, 1
				if p[0] > q[0] {
					edge, direction = -180, -1
				}
				share := 0.0
				if way := 360 - math.Abs(p[0]-q[0]); way > 0 {
					share = math.Abs(edge-q[0]) / way
				}
				lat := q[1] + share*(p[1]-q[1])
				z := whole.height(i-1) + share*(whole.height(i)-whole.height(i-1))
				part.add(orb.Point{edge, lat}, z, withHeights)
				out = append(out, part)
				part = run{}
				part.add(orb.Point{-edge, lat}, z, withHeights)
				crossed(lat, z, direction)
			}
		}
		part.add(p, whole.height(i), withHeights)
	}
	return append(out, part)
}

// cutLine returns the parts of a line that have a length, without repetitions at the cuts.
func cutLine(whole run) []run {
	var out []run
	for _, part := range parted(whole, false, func(float64, float64, int) {}) {
		if !hasTwo(part.positions) {
			continue
		}
		for len(part.positions) > 1 && part.positions[0] == part.positions[1] {
			part = part.slice(1, len(part.positions))
		}
		for n := len(part.positions); n > 1 && part.positions[n-1] == part.positions[n-2]; n-- {
			part = part.slice(0, n-1)
		}
		if last := len(out) - 1; last >= 0 && out[last].positions[len(out[last].positions)-1] == part.positions[0] {
			rest := part.slice(1, len(part.positions)) // it went to the other side and came back
			out[last].positions = append(out[last].positions, rest.positions...)
			out[last].heights = append(out[last].heights, rest.heights...)
			continue
		}
		out = append(out, part)
	}
	return out
}

func (r run) slice(from, to int) run {
	r.positions = r.positions[from:to]
	if r.heights != nil {
		r.heights = r.heights[from:to]
	}
	return r
}
