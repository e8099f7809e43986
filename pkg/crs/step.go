package crs

// datumStep moves a position from one datum to another, by a grid or by the parameters of a Helmert transformation.
type datumStep struct {
	grid      *gridFile
	backwards bool // whether the grid file is applied backwards

	helmert

	from, to ellipsoid
}

// stepsOf returns the steps of a path. A null transformation needs no step.
func stepsOf(legs []leg) []datumStep {
	var out []datumStep
	for i := range legs {
		l := &legs[i]
		switch l.kind {
		case shiftNull:
		case shiftGrid:
			out = append(out, datumStep{grid: l.grid, backwards: l.backwards != l.grid.reversed})
		default:
			out = append(out, datumStep{
				helmert: newHelmert(&l.params, l.backwards), from: l.start().ellipsoid(), to: l.end().ellipsoid(),
			})
		}
	}
	return out
}

// apply takes and returns degrees. It returns false if a grid has no shift for the position. With parameters, it starts
// from height 0 and drops the resulting height (EPSG methods for the geographic 2D domain).
func (s *datumStep) apply(lon, lat float64) (float64, float64, bool) {
	if s.grid != nil {
		return s.grid.apply(lon, lat, s.backwards)
	}
	v := s.from.geocentric(radians(lon), radians(lat), 0)
	lon, lat = s.to.geographic(s.helmert.apply(v))
	return degrees(lon), degrees(lat), true
}
