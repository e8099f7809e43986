package transform

import (
	"context"
	"slices"

	"github.com/switchback-geo/switchback/pkg/crs"
)

// mapGeometry transforms, rounds and winds the geometry of f into out, and returns
// what the flag property has to say of it.
//
// The two ordinates of the target system, degrees or metres, are rounded half
// away from zero; heights, which are metres, are not. What leaves is judged once
// more where a position was moved: see [OutputValidity].
func (t *Transformer) mapGeometry(ctx context.Context, f *Feature, gates *Gated, out *Feature) (flags []string, err error) {
	given := 0 // flags of the gates, which the caller has
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
	if needsWinding(out.Geometry.Shape) {
		out.Geometry = wind(out.Geometry)
	}
	if f.Geometry.IsNull() && f.BBox != nil {
		return flags, t.mapLoneBBox(f, out, from.source)
	}
	t.mapBBox(f, out, from.changed, from.cut || from.crosses)
	return flags, nil
}

// prepared returns what the gates made of the feature's geometry, in the target
// system. The gates may not have been asked: then it is the feature's own.
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
	projected, err := t.toTarget(f, from.source, transform, from.geometry)
	if err != nil {
		return from, err
	}
	from.changed, from.moved = true, true
	if t.systems.target.Unit() == crs.Degree {
		return t.acrossMeridian(ctx, f, transform, from, projected)
	}
	from.geometry = projected
	return from, nil
}
