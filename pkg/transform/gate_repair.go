package transform

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/geometry/repair"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
)

// repair replaces an invalid geometry by a valid one, or refuses the feature. The flag has the area of the rings before,
// that of the polygons after, and the parts of which nothing is left.
func (g *gating) repair(ctx context.Context, violation *Violation) error {
	if g.source.Unit() == crs.Degree && repair.Crosses(g.geometry.Shape) {
		e := g.f.invalid(violation, classify.StageGate)
		e.Message += ", and cannot be repaired: an edge of more than 180 degrees of longitude wraps around the world, or crosses the 180th meridian"
		e.Fix = "set geometry.antimeridian: cut, or correct the longitudes"
		return e
	}
	result, err := repair.Repair(ctx, g.geometry.Shape, g.geometry.Z, g.t.repairLimits())
	if err != nil {
		return g.f.unrepaired(err, violation, classify.StageGate)
	}
	return g.accept(result, violation)
}

// accept takes the result of a repair unless it changes too much.
func (g *gating) accept(result *repair.Result, violation *Violation) error {
	if err := g.t.checkAreaChange(g.f, result, g.source, classify.StageGate); err != nil {
		return err
	}
	g.flag("repaired " + violation.Reason() + costOf(result))
	g.replace(result.Shape, result.Heights)
	return nil
}

// repairLimits converts the limits to those of package repair.
func (t *Transformer) repairLimits() repair.Limits {
	return repair.Limits{Crossings: t.config.Limits.MaxCrossings, Positions: t.config.Limits.MaxOutputPositions}
}

// namedCollapsed is how many parts of which nothing is left are named in a flag.
const namedCollapsed = 8

// costOf describes what a repair has changed.
func costOf(result *repair.Result) string {
	text := ""
	if result.Before != 0 || result.After != 0 {
		text = ", area " + areaText(result.Before) + " to " + areaText(result.After)
	}
	if n := len(result.Collapsed); n > 0 {
		named := result.Collapsed[:min(n, namedCollapsed)]
		text += ", nothing left of /geometry" + strings.Join(named, " /geometry")
		if n > len(named) {
			text += " and " + decimal(n-len(named)) + " more"
		}
	}
	return text
}

// areaText writes an area.
func areaText(area float64) string { return string(numbers.AppendFloat(nil, area)) }

// earthRadius is the mean radius of the Earth in kilometres (IUGG).
const earthRadius = 6371.0088

// checkAreaChange refuses a repair that changes the area by more than geometry.max_area_change: the difference relative
// to the larger area. In degrees the areas are those on the sphere.
func (t *Transformer) checkAreaChange(f *Feature, result *repair.Result, system *crs.CRS, stage classify.Stage) error {
	before, after, unit := result.Before, result.After, ""
	if system.Unit() == crs.Degree {
		before, after, unit = result.Sphere.Before*earthRadius*earthRadius, result.Sphere.After*earthRadius*earthRadius, " km²"
	}
	most, larger := t.config.Geometry.MaxAreaChange, max(before, after)
	if most == nil || larger <= 0 {
		return nil
	}
	change := math.Abs(after-before) / larger
	if change <= *most {
		return nil
	}
	e := f.refuse(classify.CodeGeometryInvalid, RuleAreaChange, "/geometry", areaText(change),
		"a repair would change the area from "+areaText(before)+unit+" to "+areaText(after)+unit+", by more than "+areaText(*most)+" of it",
		"correct the geometry, or raise geometry.max_area_change")
	e.Stage = stage
	return e
}

// unrepaired returns the error for a geometry that cannot be repaired. It returns an error of the context unchanged.
func (f *Feature) unrepaired(err error, violation *Violation, stage classify.Stage) error {
	failed, ok := errors.AsType[*repair.Error](err)
	if !ok {
		return err
	}
	var e *Error
	switch failed.Reason {
	case repair.TooManyCrossings:
		e = f.refuse(classify.CodeLimitExceeded, RuleCrossings, "/geometry", "", "the edges of the geometry meet in more places than limits.max_crossings allows",
			"simplify or split the feature, or raise limits.max_crossings")
	case repair.TooManyPositions:
		e = f.refuse(classify.CodeLimitExceeded, RuleOutputPositions, "/geometry", "", "the repaired geometry has more positions than limits.max_output_positions allows",
			"simplify or split the feature, or raise limits.max_output_positions")
	default:
		e = f.invalid(violation, stage)
		e.Message += ", and cannot be repaired: " + failed.Error()
		e.Fix = "correct the geometry, or set geometry.validity: flag"
	}
	e.Stage = stage
	return e
}
