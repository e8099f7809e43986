package gates

import (
	"hash/fnv"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// The precision floor is judged over many coordinates, because JSON drops trailing zeros: one in ten honest ordinates
// with exactly the floor's decimals looks coarser. The floor is broken if more than coarseLimit of the last
// PrecisionOrdinates are coarser. For honest ordinates that has a probability of 6e-25 (docs/decisions/0070). A source
// that lost a decimal is noticed after 51 ordinates (26 points) at the start, and after 46 ordinates (23 points) that
// follow honest ones.
const (
	PrecisionOrdinates = 100
	coarseLimit        = PrecisionOrdinates / 2
	maxDecimals        = 15
	// positionsOfOne is the largest number of positions that one feature adds: no feature breaks the floor alone.
	positionsOfOne = 10
)

// Sample is the ordinates of one feature, each once, in no order, and a hash of the feature. Of a feature with many
// positions it has a few, spread evenly.
type Sample struct {
	feature   uint64
	ordinates []ordinate
}

// ordinate is one number of a coordinate.
type ordinate struct {
	feature  uint64
	value    float64
	decimals int // number of decimals, 0 to 15
}

// SampleOf samples a geometry in the source's coordinates: longitude and latitude, or easting and northing, without the
// height. feature identifies the feature: its ID, or the position of its record. A nil shape has no ordinates.
func SampleOf(feature string, shape orb.Geometry) Sample {
	name := fnv.New64a()
	_, _ = name.Write([]byte(feature)) // never fails
	s := Sample{feature: name.Sum64()}
	total := transform.Geometry{Shape: shape}.Positions()
	step, next, i := max(1, (total+positionsOfOne-1)/positionsOfOne), 0, 0
	geometry.EachLine(shape, func(line []orb.Point) {
		for _, p := range line {
			if i == next {
				s.add(p[0])
				s.add(p[1])
				next += step
			}
			i++
		}
	})
	return s
}

func (s *Sample) add(value float64) {
	if !slices.ContainsFunc(s.ordinates, func(o ordinate) bool { return o.value == value }) {
		s.ordinates = append(s.ordinates, ordinate{s.feature, value, decimalsOf(value)})
	}
}

// coarse reports whether more than half of the ordinates have fewer decimals than the floor.
func (s Sample) coarse(floor int) bool {
	n := 0
	for _, o := range s.ordinates {
		if o.decimals < floor {
			n++
		}
	}
	return 2*n > len(s.ordinates)
}

// decimalsOf returns the least number of decimals that write a number exactly, or 15 if it needs more.
func decimalsOf(x float64) int {
	for n := range maxDecimals {
		scale := math.Pow10(n)
		if math.Round(x*scale)/scale == x {
			return n
		}
	}
	return maxDecimals
}
