package transform

import (
	"context"
	"slices"

	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/transform/internal/shapes"
)

// mapGeometry transforms, rounds and winds the geometry of f into out, and returns the flags for the flag property.
//
// It rounds the two ordinates of the target system, degrees or metres, half away from zero. It does not round heights,
// which are metres. The result is judged again if a position was moved: see [OutputValidity].
func (t *Transformer) mapGeometry(ctx context.Context, f *Feature, gates *Gated, out *Feature) (flags []string, err error) {
	given := 0 // number of flags of the gates, which the caller has
	if gates != nil {
		given = len(gates.flags)
	}
	from, err := t.prepared(ctx, f, gates)
	if err != nil {
		return nil, err
	}
	out.Geometry = from.geometry
	if target := t.systems.target; !wgs84(target) {
		out.CRS = target.Code()
	}
	if !from.geometry.IsNull() {
		if t.config.Geometry.RoundDecimals != nil {
			out.BBox = (&rounding{grid: t.grid}).bbox(f.BBox)
		}
		s := settling{t: t, f: f, from: from, out: out}
		if err := s.settle(ctx); err != nil {
			return nil, err
		}
		flags, from.changed = slices.Concat(from.flags[given:], s.flags), s.from.changed
	}
	if shapes.NeedsWinding(out.Geometry.Shape) {
		out.Geometry.Shape, out.Geometry.Z = shapes.Wind(out.Geometry.Shape, out.Geometry.Z)
	}
	if f.Geometry.IsNull() && f.BBox != nil {
		return flags, t.mapLoneBBox(f, out, from.source)
	}
	t.mapBBox(f, out, from.changed, from.cut || from.crosses)
	return flags, nil
}

// prepared returns the result of the gates for the feature's geometry, in the target system. Without a result of the
// gates it returns the feature's own geometry.
func (t *Transformer) prepared(ctx context.Context, f *Feature, gates *Gated) (Gated, error) {
	from := Gated{geometry: f.Geometry}
	if gates != nil {
		from = *gates
	} else {
		source, err := t.sourceOf(f)
		if err != nil {
			return from, err
		}
		if from.source = source; source.AxisOrder() == crs.AxisYX {
			from.geometry = swapped(f.Geometry)
		}
	}
	if from.geometry.IsNull() {
		return from, nil
	}
	from.changed = from.changed || from.source.AxisOrder() == crs.AxisYX
	transform, err := t.systems.transform(from.source)
	if err != nil || transform == nil {
		return from, err
	}
	if from.projected == nil {
		projected, err := t.toTarget(f, from.source, transform, from.geometry)
		if err != nil {
			return from, err
		}
		from.projected = &projected
	}
	from.changed, from.moved = true, true
	if t.systems.target.Unit() == crs.Degree {
		return t.acrossMeridian(ctx, f, transform, from)
	}
	from.geometry = *from.projected
	return from, nil
}
