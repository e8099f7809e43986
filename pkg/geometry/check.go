package geometry

import (
	"math"

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
func checkShape(format Format, shape orb.Geometry) (int, error) {
	switch shape := shape.(type) {
	case orb.Point:
		if IsEmptyPoint(shape) {
			return 0, nil
		}
		return checkPositions(format, []orb.Point{shape})
	case orb.MultiPoint:
		return checkAll(format, shape, func(_ Format, p orb.Point) (int, error) { return checkShape(format, p) })
	case orb.LineString:
		return checkPositions(format, shape)
	case orb.MultiLineString:
		return checkAll(format, shape, checkPositions[orb.LineString])
	case orb.Polygon:
		return checkAll(format, shape, checkPositions[orb.Ring])
	case orb.MultiPolygon:
		return checkAll(format, shape, func(_ Format, p orb.Polygon) (int, error) { return checkShape(format, p) })
	case orb.Collection:
		return checkAll(format, shape, checkShape)
	}
	return 0, encodeFault(format, RuleUnsupported, "the shape is of no type of RFC 7946")
}

// checkAll sums what each counts.
func checkAll[T any](format Format, list []T, each func(Format, T) (int, error)) (int, error) {
	total := 0
	for _, element := range list {
		n, err := each(format, element)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func checkPositions[L ~[]orb.Point](format Format, points L) (int, error) {
	for _, p := range points {
		if !finite(p[0]) || !finite(p[1]) {
			return 0, encodeFault(format, RuleNotFinite, "an ordinate is not finite")
		}
	}
	return len(points), nil
}
