package gates

import (
	"hash/fnv"
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// The floor of precision is judged over many coordinates, since JSON drops zeros at the end: of honest ordinates with exactly
// so many decimals as the floor one in ten looks coarser. The floor is broken once more than coarseLimit of the last
// PrecisionOrdinates are. For honest ones that has a probability of 6e-25 (docs/decisions/0070); of a source that lost a
// decimal 51 ordinates, 26 points, are enough at the start, and 46 ordinates, 23 points, after honest ones.
const (
	PrecisionOrdinates = 100
	coarseLimit        = PrecisionOrdinates / 2
	maxDecimals        = 15
	// positionsOfOne is how many positions one feature adds at most: no feature breaks the floor by itself.
	positionsOfOne = 10
)

// Sample is what one feature says about the precision of its source: its ordinates, each once, in no order, and of which
// feature they are. Of a feature with many positions it has a few, spread evenly.
type Sample struct {
	feature   uint64
	ordinates []ordinate
}

// ordinate is one number of a coordinate.
type ordinate struct {
	feature  uint64
	value    float64
	decimals int // that it has: 0 to 15
}

// SampleOf takes the sample of a geometry, as the source has it: longitude and latitude, or easting and northing, not the
// height. feature tells features apart: their ids, or else the places of their records. Nil has no ordinates.
func SampleOf(feature string, shape orb.Geometry) Sample {
	name := fnv.New64a()
	_, _ = name.Write([]byte(feature)) // never fails
	s := Sample{feature: name.Sum64()}
	total := count(shape)
	step, next, i := max(1, (total+positionsOfOne-1)/positionsOfOne), 0, 0
	each(shape, func(p orb.Point) {
		if i == next {
			s.add(p[0])
			s.add(p[1])
			next += step
		}
		i++
	})
	return s
}

func (s *Sample) add(value float64) {
	if !slices.ContainsFunc(s.ordinates, func(o ordinate) bool { return o.value == value }) {
		s.ordinates = append(s.ordinates, ordinate{s.feature, value, decimalsOf(value)})
	}
}

// coarse says whether more than half of the ordinates have fewer decimals.
func (s Sample) coarse(floor int) bool {
	n := 0
	for _, o := range s.ordinates {
		if o.decimals < floor {
			n++
		}
	}
	return 2*n > len(s.ordinates)
}

// decimalsOf is the least number of decimals that write a number; 15 for one that needs more.
func decimalsOf(x float64) int {
	for n := range maxDecimals {
		scale := math.Pow10(n)
		if math.Round(x*scale)/scale == x {
			return n
		}
	}
	return maxDecimals
}

func count(shape orb.Geometry) (n int) {
	each(shape, func(orb.Point) { n++ })
	return n
}

// each visits the positions of a geometry in their order.
func each(shape orb.Geometry, visit func(orb.Point)) {
	line := func(points []orb.Point) {
		for _, p := range points {
			visit(p)
		}
	}
	switch g := shape.(type) {
	case orb.Point:
		visit(g)
	case orb.MultiPoint:
		line(g)
	case orb.LineString:
		line(g)
	case orb.Ring:
		line(g)
	case orb.MultiLineString:
		for _, l := range g {
			line(l)
		}
	case orb.Polygon:
		for _, r := range g {
			line(r)
		}
	case orb.MultiPolygon:
		for _, p := range g {
			each(p, visit)
		}
	case orb.Collection:
		for _, part := range g {
			each(part, visit)
		}
	}
}
