package dlq

import "github.com/switchback-geo/switchback/pkg/crs"

// Place converts coordinates to longitude and latitude. The error means that the system does not reach there.
type Place func(x, y float64) (lon, lat float64, err error)

// Degrees returns the conversion from the source's coordinates to longitude and latitude. It is nil if the coordinate
// system is unknown: without a pipeline, and for a DLQ that is not the pipeline's own. A change of datum is not visible
// on the map, so degrees stay as they are.
func (s *Service) Degrees() (Place, error) {
	if s.alone || s.foreign {
		return nil, nil
	}
	from, err := crs.Lookup(s.cfg.Transform.Geometry.SourceCRS)
	if err != nil {
		return nil, err
	}
	if from.Unit() == crs.Degree && from.AxisOrder() == crs.AxisXY {
		return AsDegrees, nil
	}
	to, err := crs.Lookup("OGC:CRS84")
	if err != nil {
		return nil, err
	}
	way, err := crs.NewTransform(from, to)
	if err != nil {
		return nil, err
	}
	return way.Forward, nil
}

// AsDegrees returns coordinates as longitude and latitude.
func AsDegrees(x, y float64) (lon, lat float64, err error) { return x, y, nil }
