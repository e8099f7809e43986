package transform

import (
	"context"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/geometry/repair"
)

// meridian applies the policy for the 180th meridian, and checks validity. For a geometry that is to be cut, it checks
// the one that is meant, not the one around the rest of the world.
func (g *gating) meridian(ctx context.Context) error {
	policy := g.rules.Antimeridian
	if policy == AntimeridianIgnore || g.source.Unit() != crs.Degree || !repair.Crosses(g.geometry.Shape) {
		return g.valid(ctx)
	}
	switch policy {
	case AntimeridianFlag:
		g.flag(string(RuleAntimeridian) + " (/geometry)")
		return g.valid(ctx)
	case AntimeridianReject:
		return g.f.refuse(classify.CodeAntimeridian, RuleAntimeridian, "/geometry", "", "the geometry crosses the 180th meridian",
			"cut it there (RFC 7946 section 3.1.9), or set geometry.antimeridian: cut")
	default:
		return g.cutApart(ctx)
	}
}

// cutApart cuts a geometry at the meridian, and repairs it if that is allowed.
func (g *gating) cutApart(ctx context.Context) error {
	meant := repair.Unwrapped(g.geometry.Shape)
	if err := g.simple(ctx, meant); err != nil {
		return err
	}
	violation, err := violationOf(ctx, meant, "/geometry")
	if err != nil {
		return err
	}
	if violation != nil && g.rules.Validity != ValidityRepair {
		return g.uncut(violation)
	}
	result, err := repair.Cut(ctx, g.geometry.Shape, g.geometry.Z, g.t.repairLimits())
	if err != nil {
		if violation == nil {
			violation = &Violation{Rule: RuleAntimeridian, Path: "/geometry"}
		}
		return g.f.unrepaired(err, violation, classify.StageGate)
	}
	switch {
	case violation != nil:
	case result.Overlap:
		violation = &Violation{Rule: RulePolygonsOverlap, Path: "/geometry"}
	case result.Unsure != "":
		violation = &Violation{Rule: RulePole, Path: "/geometry" + result.Unsure}
	}
	g.cut = true
	switch {
	case violation == nil:
		g.replace(result.Shape, result.Heights)
		return nil
	case g.rules.Validity == ValidityRepair:
		return g.accept(result, violation)
	}
	return g.uncut(violation)
}

// uncut refuses a geometry that crosses the meridian and is not valid.
func (g *gating) uncut(violation *Violation) error {
	e := g.f.invalid(violation, classify.StageGate)
	if g.rules.Validity == ValidityFlag {
		e.Code, e.Rule, e.Path = classify.CodeAntimeridian, string(RuleAntimeridian), "/geometry"
	}
	e.Message = "the geometry crosses the 180th meridian and cannot be cut as it is: " + e.Message
	e.Fix = "set geometry.validity: repair, or correct it"
	return e
}
