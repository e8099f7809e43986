package world

import (
	"cmp"
	"slices"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/geometry/repair"
)

// span is the range of longitudes that a part of a geometry covers, from west to east. The east may lie beyond 180.
type span struct{ west, east float64 }

// Longitudes returns the longitudes of the smallest box around a geometry in degrees (RFC 7946 section 5.2). The
// west is greater than the east if the box crosses the antimeridian. It is the whole world if the geometry leaves no
// gap, as around a pole (section 5.3).
func Longitudes(shape orb.Geometry) (west, east float64) {
	spans := spansOf(repair.Unwrapped(shape), nil)
	for i := range spans {
		for ; spans[i].west > 180; spans[i] = (span{spans[i].west - 360, spans[i].east - 360}) {
		}
		for ; spans[i].west < -180; spans[i] = (span{spans[i].west + 360, spans[i].east + 360}) {
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.west, b.west) })
	reach, gap := spans[0].east, 0.0
	for _, s := range spans[1:] {
		if s.west-reach > gap {
			gap, west, east = s.west-reach, s.west, reach
		}
		reach = max(reach, s.east)
	}
	if last := spans[0].west + 360 - reach; last >= gap && last > 0 {
		gap, west, east = last, spans[0].west, reach
	}
	if gap <= 0 {
		return -180, 180
	}
	if east > 180 {
		east -= 360
	}
	return west, east
}

// spansOf appends the spans of a shape whose longitudes do not jump.
func spansOf(shape orb.Geometry, spans []span) []span {
	switch shape := shape.(type) {
	case orb.Point:
		if geometry.IsEmptyPoint(shape) {
			return spans
		}
		return append(spans, span{shape[0], shape[0]})
	case orb.MultiPoint:
		for _, p := range shape {
			spans = append(spans, span{p[0], p[0]})
		}
	case orb.MultiLineString:
		for _, line := range shape {
			spans = spansOf(line, spans)
		}
	case orb.MultiPolygon:
		for _, polygon := range shape {
			spans = spansOf(polygon, spans)
		}
	case orb.Collection:
		for _, member := range shape {
			spans = spansOf(member, spans)
		}
	case orb.Polygon:
		if len(shape) == 0 { // a ring goes around a pole and does not unwrap
			return append(spans, span{-180, 180})
		}
		low, high, _ := geometry.Bounds(shape)
		spans = append(spans, span{low[0], high[0]})
	default:
		if low, high, found := geometry.Bounds(shape); found {
			spans = append(spans, span{low[0], high[0]})
		}
	}
	return spans
}
