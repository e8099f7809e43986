package transform

import (
	"context"
	"errors"
	"slices"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/geometry/repair"
	"github.com/switchback-geo/switchback/pkg/transform/internal/shapes"
)

// settling is the last gate: it judges the doubles that are written.
type settling struct {
	t     *Transformer
	f     *Feature
	from  Gated    // in the target system
	out   *Feature // the geometry as written
	flags []string
}

// settle rounds the geometry and judges the result. If neither rounding nor a projection moved a position, the gates
// have already judged it. geometry.output_validity decides about a result that is not valid. A geometry that the gates
// let pass although it is not valid is already flagged.
func (s *settling) settle(ctx context.Context) error {
	from := s.from.geometry.Shape
	rounded, moved := from, s.from.moved
	if s.t.config.Geometry.RoundDecimals != nil {
		r := rounding{grid: s.t.grid}
		rounded = r.geometry(from)
		moved = moved || r.moved
	}
	s.out.Geometry.Shape = rounded
	if !moved {
		return nil
	}
	if s.out.Violation != nil {
		if s.collapsed(rounded) != "" {
			s.out.Geometry.Shape = from
		}
		return nil
	}
	judged := rounded
	if s.from.crosses {
		judged = repair.Unwrapped(rounded)
	}
	violation, err := violationOf(ctx, judged)
	if violation == nil || err != nil {
		return err
	}
	if s.from.crosses { // it is uncut, so it cannot be snapped in the plane
		s.let(violation)
		return nil
	}
	switch s.t.config.Geometry.OutputValidity {
	case OutputSnap:
		return s.snap(ctx, violation)
	case OutputFlag:
		s.let(violation)
		return nil
	default:
		return s.refuse(violation)
	}
}

// snap replaces a geometry that is not valid on the grid by a valid one.
func (s *settling) snap(ctx context.Context, violation *Violation) error {
	from := s.from.geometry
	limits := s.t.repairLimits()
	var result *repair.Result
	var err error
	if decimals := s.t.config.Geometry.RoundDecimals; decimals != nil {
		result, err = repair.Snap(ctx, from.Shape, from.Z, *decimals, limits)
	} else {
		result, err = repair.Repair(ctx, from.Shape, from.Z, limits)
	}
	if failed, ok := errors.AsType[*repair.Error](err); ok && failed.Reason == repair.NothingLeft {
		if s.t.config.Geometry.Validity == ValidityReject {
			return s.refuse(violation)
		}
		return s.unrounded(ctx, violation)
	}
	if err != nil {
		return s.f.unrepaired(err, violation, classify.StageTransform)
	}
	if err := s.t.checkAreaChange(s.f, result, s.t.systems.target, classify.StageTransform); err != nil {
		return err
	}
	shape, err := s.typed(result.Shape)
	if err != nil {
		return err
	}
	s.flags = append(s.flags, "snapped "+violation.Reason()+costOf(result))
	s.out.Geometry = Geometry{Shape: shape, Z: result.Heights}
	s.from.changed = true
	return nil
}

// unrounded writes the geometry without rounding, with the reason, if nothing valid is left of it on the grid.
func (s *settling) unrounded(ctx context.Context, violation *Violation) error {
	if s.collapsed(s.out.Geometry.Shape) != "" {
		s.let(violation)
		return nil
	}
	s.out.Geometry = s.from.geometry
	s.flags = append(s.flags, "not rounded, since nothing valid is left of it on the grid: "+violation.Reason())
	own, err := violationOf(ctx, s.from.geometry.Shape)
	s.out.Violation = own // of a projection
	return err
}

// typed checks the type of a snapped geometry, which may have fewer or more parts, against the allowed types.
func (s *settling) typed(shape orb.Geometry) (orb.Geometry, error) {
	rules := &s.t.config.Geometry
	allowed := rules.Types
	if len(allowed) == 0 || slices.Contains(allowed, typeOf(shape)) || rules.OtherTypes == ValidityFlag {
		return shape, nil
	}
	if converted := convertType(shape, allowed); converted != nil {
		return converted, nil
	}
	e := s.f.wrongType(typeOf(shape), allowed)
	e.Stage = classify.StageTransform
	e.Message = "rounding makes a " + string(typeOf(shape)) + " of the geometry, and such do not pass"
	return nil, e
}

// let passes a geometry that is not valid, with the reason. If nothing is left of a part, the geometry is not rounded at
// all.
func (s *settling) let(violation *Violation) {
	if path := s.collapsed(s.out.Geometry.Shape); path != "" {
		violation = &Violation{Rule: RuleCollapsed, Path: path}
		s.out.Geometry.Shape = s.from.geometry.Shape
	}
	s.out.Violation = violation
}

// refuse refuses the feature.
func (s *settling) refuse(violation *Violation) error {
	if path := s.collapsed(s.out.Geometry.Shape); path != "" {
		violation = &Violation{Rule: RuleCollapsed, Path: path}
	}
	e := s.f.invalid(violation, classify.StageTransform)
	e.Message = "the geometry that would be written is not valid: " + e.Message
	e.Fix = "raise geometry.round_decimals, or set geometry.output_validity: flag"
	return e
}

// collapsed returns the JSON pointer of the first part of which rounding leaves nothing, or "".
func (s *settling) collapsed(rounded orb.Geometry) string {
	if s.t.config.Geometry.RoundDecimals == nil {
		return ""
	}
	if path := shapes.Collapsed(s.from.geometry.Shape, rounded, s.t.grid.Cell()); path != "" {
		return "/geometry" + path
	}
	return ""
}
