package transform

import (
	"context"
	"math"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/geometry/repair"
	"github.com/switchback-geo/switchback/pkg/transform/internal/world"
)

// meridian applies the policy for the 180th meridian, and checks validity. For a geometry that must be cut, it checks
// the intended one, not the one around the rest of the world.
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
	violation, err := violationOf(ctx, meant)
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
	e.Message = "the geometry crosses the 180th meridian and cannot be cut in this form: " + e.Message
	e.Fix = "set geometry.validity: repair, or correct it"
	return e
}

// acrossMeridian returns the projected geometry with consistent longitudes, and applies the policy on the 180th meridian
// if the geometry crosses it.
func (t *Transformer) acrossMeridian(ctx context.Context, f *Feature, transform *crs.Transform, from Gated) (Gated, error) {
	shape, heights, crosses := world.Unroll(transform, t.meridianSlack(), from.geometry.Shape, from.projected.Shape, from.projected.Z)
	from.geometry = Geometry{Shape: shape, Z: heights}
	if !crosses {
		return from, nil
	}
	g := &gating{Gated: from, t: t, f: f, rules: &t.config.Geometry}
	switch g.rules.Antimeridian {
	case AntimeridianCut:
		if err := g.cutApart(ctx); err != nil {
			return from, err
		}
		return g.Gated, g.kindAgain()
	case AntimeridianFlag:
		g.flag(string(RuleAntimeridian) + " (/geometry)")
		g.crosses = true
		return g.Gated, nil
	default:
		return from, f.refuse(classify.CodeAntimeridian, RuleAntimeridian, "/geometry", "",
			"in "+t.systems.target.Code()+" the geometry crosses the 180th meridian or surrounds a pole",
			"set geometry.antimeridian: cut (RFC 7946 section 3.1.9), or send the parts as they are cut there")
	}
}

// meridianSlack returns how far beyond ±180 a longitude may lie to be moved back: as far as rounding would move it.
func (t *Transformer) meridianSlack() float64 {
	if decimals := t.config.Geometry.RoundDecimals; decimals != nil {
		return max(world.Slack, 0.5*math.Pow10(-*decimals))
	}
	return world.Slack
}
