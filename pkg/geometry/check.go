package geometry

import (
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// check refuses what no format can represent, before a byte is written.
func check(format Format, g Geometry) error {
	positions, err := checkShape(format, g.Shape)
	if err != nil {
		return err
	}
	if g.Z == nil {
		return nil
	}
	if len(g.Z) != positions {
		return encodeFault(format, RuleHeights, "there are "+decimal(len(g.Z))+" heights for "+decimal(positions)+" positions")
	}
	for _, z := range g.Z {
		if math.IsInf(z, 0) {
			return encodeFault(format, RuleNotFinite, "a height is not finite")
		}
	}
	return nil
}

// checkShape checks the ordinates and counts the positions.
func checkShape(format Format, shape orb.Geometry) (positions int, err error) {
	count := func(line []orb.Point) {
		positions += len(line)
		if slices.ContainsFunc(line, func(p orb.Point) bool { return !finite(p[0]) || !finite(p[1]) }) {
			err = encodeFault(format, RuleNotFinite, "an ordinate is not finite")
		}
	}
	switch shape := shape.(type) {
	case orb.Point, orb.LineString, orb.MultiLineString, orb.Polygon, orb.MultiPolygon:
		EachLine(shape, count)
	case orb.MultiPoint:
		for _, p := range shape { // one by one, because an empty point has no position
			EachLine(p, count)
		}
	case orb.Collection:
		for _, member := range shape {
			n, err := checkShape(format, member)
			if err != nil {
				return 0, err
			}
			positions += n
		}
	default:
		err = encodeFault(format, RuleUnsupported, "the shape is of no type of RFC 7946")
	}
	return positions, err
}
