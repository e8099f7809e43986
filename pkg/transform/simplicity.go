package transform

import "github.com/paulmach/orb"

// notSimple returns a place where a geometry is not simple (OGC 06-103r4,
// section 6.1): a line that meets itself elsewhere than at its two ends, or a
// position that a MultiPoint has twice. Lines of one MultiLineString are looked
// at one by one: that two of them cross is usual in networks. Rings are judged by
// validity.
func notSimple(shape orb.Geometry, path string) (at orb.Point, part string, found bool) {
	switch shape := shape.(type) {
	case orb.MultiPoint:
		seen := make(map[orb.Point]bool, len(shape))
		for i, p := range shape {
			if seen[p] {
				return p, path + "/coordinates/" + decimal(i), true
			}
			seen[p] = true
		}
	case orb.LineString:
		at, found = lineMeetsItself(shape)
		return at, path + "/coordinates", found
	case orb.MultiLineString:
		for i, line := range shape {
			if at, found = lineMeetsItself(line); found {
				return at, path + "/coordinates/" + decimal(i), true
			}
		}
	case orb.Collection:
		for i, member := range shape {
			if at, part, found = notSimple(member, path+"/geometries/"+decimal(i)); found {
				return at, part, true
			}
		}
	}
	return orb.Point{}, "", false
}

// lineMeetsItself returns a point where a line meets itself. Its ends may meet.
func lineMeetsItself(line orb.LineString) (at orb.Point, found bool) {
	edges := edgesOf(orb.Ring(line))
	last := -1 // no edge follows the last one
	if len(line) > 2 && line[0] == line[len(line)-1] {
		last = len(edges) - 1
	}
	eachPair(edges, func(s, t segment) bool {
		at, found = meet(s, t, last)
		return !found
	})
	return at, found
}
