package crs

// datumStep carries a position from one datum to another: by a grid, or by the
// parameters of a Helmert transformation.
type datumStep struct {
	grid      *gridFile
	backwards bool // of the grid file

	helmert

	from, to ellipsoid
}

// stepsOf makes the steps of a way. A null transformation takes none.
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

// apply takes and returns degrees; false where a grid has no shift. Where parameters
// are used the height is 0 before, and forgotten after (EPSG methods for the
// geographic 2D domain).
func (s *datumStep) apply(lon, lat float64) (float64, float64, bool) {
	if s.grid != nil {
		return s.grid.apply(lon, lat, s.backwards)
	}
	v := s.from.geocentric(radians(lon), radians(lat), 0)
	lon, lat = s.to.geographic(s.helmert.apply(v))
	return degrees(lon), degrees(lat), true
}
