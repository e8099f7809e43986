package sample

import "math"

// extent is the extent of features.
type extent struct {
	bounds   [4]float64 // west, south, east, north
	features int
}

func noExtent() extent {
	return extent{bounds: [4]float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}}
}

func (e *extent) empty() bool { return math.IsInf(e.bounds[0], 1) }

// isDegrees reports whether all coordinates can be longitudes and latitudes.
func (e *extent) isDegrees() bool { return e.within([4]float64{-180, -90, 180, 90}) }

func (e *extent) within(b [4]float64) bool {
	return e.bounds[0] >= b[0] && e.bounds[1] >= b[1] && e.bounds[2] <= b[2] && e.bounds[3] <= b[3]
}

// join adds the extent of one feature.
func (e *extent) join(one extent) {
	e.features++
	for i := range 2 {
		e.bounds[i], e.bounds[i+2] = min(e.bounds[i], one.bounds[i]), max(e.bounds[i+2], one.bounds[i+2])
	}
}
