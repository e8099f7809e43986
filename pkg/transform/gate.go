package transform

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
	"github.com/switchback-geo/switchback/pkg/transform/internal/shapes"
	"github.com/switchback-geo/switchback/pkg/transform/internal/world"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// Gate checks the config's requirements of a geometry, before any attribute rule runs, in this order: coordinate
// reference system (S1-4), null, foreign members, heights, type, empty, range, decimals (S0-9), antimeridian,
// simplicity, OGC validity (S0-8), bbox. After the first of these it evaluates the filter and returns a
// [*FilteredError] for an excluded feature. The other errors are [*Error] of the gate stage, or that of the context.
//
// Gate does not change f. The result has the repairs, cuts and flags of the gates, for [Transformer.Map]. The gate on
// types checks the feature's own geometry: where a GeometryCollection passes, its members pass too.
func (t *Transformer) Gate(ctx context.Context, f *Feature) (*Gated, error) {
	gates, err := t.gate(ctx, f)
	if err != nil {
		return nil, t.placed(err)
	}
	return gates, nil
}

func (t *Transformer) gate(ctx context.Context, f *Feature) (*Gated, error) {
	source, err := t.sourceOf(f)
	if err != nil {
		return nil, err
	}
	if err := t.checkFilter(f); err != nil {
		return nil, err
	}
	g := &gating{Gated: Gated{source: source, geometry: f.Geometry}, t: t, f: f, rules: &t.config.Geometry}
	if err := g.run(ctx); err != nil {
		return nil, err
	}
	return &g.Gated, nil
}

// Gated is the result of [Transformer.Gate] for a feature.
type Gated struct {
	source    *crs.CRS
	geometry  Geometry  // in the source system, longitude or easting first; repaired and cut
	projected *Geometry // geometry in the target system; nil if a gate has not computed it
	changed   bool      // its extent is no longer that of the feature's own geometry
	moved     bool      // a position was moved since it was judged
	flags     []string
	cut       bool // at the antimeridian
	crosses   bool // it crosses the antimeridian in the target system, uncut
	violation *Violation
}

// Violation returns the rule that the geometry breaks if `validity: flag` let it pass, otherwise nil.
func (g *Gated) Violation() *Violation { return g.violation }

// Repaired returns the geometry with which the gates replaced the feature's own, in the feature's axis order. ok is
// false if they did not replace it.
func (g *Gated) Repaired() (geometry Geometry, ok bool) {
	if g.changed && g.source.AxisOrder() == crs.AxisYX {
		return swapped(g.geometry), true
	}
	return g.geometry, g.changed
}

// gating runs the gates on one feature.
type gating struct {
	Gated
	t     *Transformer
	f     *Feature
	rules *GeometryRules
}

// run runs the gates one after the other.
func (g *gating) run(ctx context.Context) error {
	if g.geometry.IsNull() {
		if err := g.judge(g.rules.NullGeometry, classify.CodeGeometryEmpty, RuleNullGeometry, "/geometry", "null", "the feature has no geometry",
			"send one, or set geometry.null_geometry: accept"); err != nil {
			return err
		}
		return g.boxOrder()
	}
	if g.source.AxisOrder() == crs.AxisYX {
		g.geometry = swapped(g.geometry)
	}
	for _, gate := range [...]func() error{g.foreign, g.heights, g.kind, g.empty, g.inRange, g.decimals} {
		if err := gate(); err != nil {
			return err
		}
	}
	if err := g.meridian(ctx); err != nil {
		return err
	}
	for _, gate := range [...]func() error{g.kindAgain, g.boxOrder, g.bbox} {
		if err := gate(); err != nil {
			return err
		}
	}
	return nil
}

// judge applies an acceptance to a fault. value is the offending one if there is one.
func (g *gating) judge(acceptance Acceptance, code classify.Code, rule Rule, path, value, message, fix string) error {
	switch acceptance {
	case Accept:
	case AcceptWithFlag:
		g.flag(string(rule) + " (" + path + ")")
	default:
		return g.f.refuse(code, rule, path, value, message, fix)
	}
	return nil
}

func (g *gating) flag(text string) { g.flags = append(g.flags, text) }

// foreign refuses a geometry with a member that would be lost.
func (g *gating) foreign() error {
	name := g.f.geometryMember
	if name == "" {
		return nil
	}
	return g.judge(g.rules.ForeignMembers, classify.CodeGeometryStructure, RuleForeignMembers, "/geometry", "", "the geometry has the member "+strconv.Quote(name)+", which is not allowed in the output",
		"move it to the properties, or set geometry.foreign_members: accept, which leaves it out")
}

// heights applies the policy for the third ordinate.
func (g *gating) heights() error {
	z := g.geometry.Z
	switch g.rules.Dimension {
	case DimensionDropZ:
		g.geometry.Z = nil
	case DimensionRejectZ:
		if z != nil {
			i := max(0, slices.IndexFunc(z, func(z float64) bool { return !math.IsNaN(z) }))
			return g.f.refuse(classify.CodeGeometryDimension, RuleDimension, "/geometry"+shapes.PositionPath(g.geometry.Shape, i), string(numbers.AppendFloat(nil, z[i])),
				"a position has a height", "send longitude and latitude only, or set geometry.dimension: drop_z")
		}
	case DimensionRequireZ:
		i := slices.IndexFunc(z, math.IsNaN)
		if z == nil && g.geometry.Positions() > 0 {
			i = 0
		}
		if i >= 0 {
			return g.f.refuse(classify.CodeGeometryDimension, RuleDimension, "/geometry"+shapes.PositionPath(g.geometry.Shape, i), "",
				"a position has no height", "send a third ordinate in each position, or set geometry.dimension: keep")
		}
	default: // decided below
	}
	return nil
}

// kind compares the geometry's type with the list.
func (g *gating) kind() error {
	allowed, kind := g.rules.Types, g.geometry.Type()
	if len(allowed) == 0 || slices.Contains(allowed, kind) {
		return nil
	}
	switch g.rules.OtherTypes {
	case ValidityFlag:
		g.flag(string(RuleGeometryType) + " " + string(kind) + " (/geometry)")
		return nil
	case ValidityRepair:
		if shape := convertType(g.geometry.Shape, allowed); shape != nil {
			g.flag("repaired " + string(RuleGeometryType) + " " + string(kind) + " to " + string(typeOf(shape)))
			g.geometry.Shape = shape
			return nil
		}
	default: // decided below
	}
	return g.f.wrongType(kind, allowed)
}

func (f *Feature) wrongType(kind GeometryType, allowed []GeometryType) *Error {
	return f.refuse(classify.CodeGeometryType, RuleGeometryType, "/geometry/type", string(kind),
		"geometries of this type do not pass", "send one of "+quoteList(allowed)+", or extend geometry.types")
}

// kindAgain checks the type again after a repair or a cut, which may turn one part into several or several into one.
func (g *gating) kindAgain() error {
	allowed := g.rules.Types
	if !g.changed || g.rules.OtherTypes == ValidityFlag || len(allowed) == 0 || slices.Contains(allowed, g.geometry.Type()) {
		return nil
	}
	if g.rules.OtherTypes == ValidityRepair {
		if shape := convertType(g.geometry.Shape, allowed); shape != nil {
			g.replace(shape, g.geometry.Z)
			return nil
		}
	}
	return g.f.wrongType(g.geometry.Type(), allowed)
}

// convertType converts a geometry to one of the allowed types without moving a position: between a geometry, its Multi
// type and a collection of one. It returns nil if that is not possible.
func convertType(shape orb.Geometry, allowed []GeometryType) orb.Geometry {
	var wider, narrower orb.Geometry
	switch shape := shape.(type) {
	case orb.Point:
		if wider = (orb.MultiPoint{shape}); geometry.IsEmptyPoint(shape) {
			wider = orb.MultiPoint{}
		}
	case orb.LineString:
		wider = orb.MultiLineString{shape}
	case orb.Polygon:
		wider = orb.MultiPolygon{shape}
	case orb.MultiPoint:
		if len(shape) == 1 {
			narrower = shape[0]
		}
	case orb.MultiLineString:
		if len(shape) == 1 {
			narrower = shape[0]
		}
	case orb.MultiPolygon:
		if len(shape) == 1 {
			narrower = shape[0]
		}
	case orb.Collection:
		if len(shape) == 1 {
			if slices.Contains(allowed, typeOf(shape[0])) {
				return shape[0]
			}
			return convertType(shape[0], allowed)
		}
	}
	for _, candidate := range []orb.Geometry{wider, narrower} {
		if candidate != nil && slices.Contains(allowed, typeOf(candidate)) {
			return candidate
		}
	}
	return nil
}

func (g *gating) empty() error {
	if g.rules.EmptyGeometry == Accept {
		return nil
	}
	if g.geometry.Positions() == 0 {
		return g.judge(g.rules.EmptyGeometry, classify.CodeGeometryEmpty, RuleEmptyGeometry, "/geometry", "", "the geometry has no position",
			"send null for no geometry, or set geometry.empty_geometry: accept")
	}
	path := shapes.EmptyPart(g.geometry.Shape)
	if path == "" {
		return nil
	}
	return g.judge(g.rules.EmptyGeometry, classify.CodeGeometryEmpty, RuleEmptyGeometry, "/geometry"+path, "", "a part of the geometry has no position",
		"leave the part out, or set geometry.empty_geometry: accept")
}

// replace sets the geometry that a gate has derived from the previous one.
func (g *gating) replace(shape orb.Geometry, heights []float64) {
	g.geometry, g.projected, g.changed = Geometry{Shape: shape, Z: heights}, nil, true
}

// inRange refuses positions that the system does not have. It moves back what lies beyond ±180 or ±90 degrees by no more
// than the rounding of its producer. For a projected system only the transformation knows what is out of range; inRange
// keeps its result for [Transformer.Map].
func (g *gating) inRange() error {
	if g.source.Unit() == crs.Degree {
		if err := checkDegrees(g.f, g.geometry); err != nil {
			return err
		}
		shape, moved := world.Clamped(g.geometry.Shape)
		g.geometry.Shape, g.changed = shape, g.changed || moved
		return nil
	}
	transform, err := g.t.systems.transform(g.source)
	switch {
	case err != nil:
		return err
	case transform == nil:
		return checkFinite(g.f, g.geometry)
	}
	projected, err := g.t.toTarget(g.f, g.source, transform, g.geometry)
	g.projected = &projected
	return err
}

// decimals is the gate for degraded precision (S0-9): a geometry is too coarse if each of its ordinates is a multiple of
// a larger step than declared.
func (g *gating) decimals() error {
	least := g.t.config.MinDecimals
	if least == nil || g.rules.Coarse == Accept || g.geometry.Positions() == 0 {
		return nil
	}
	scale, finer := math.Pow10(*least-1), false
	geometry.EachLine(g.geometry.Shape, func(line []orb.Point) {
		for i := 0; i < len(line) && !finer; i++ {
			finer = !onGrid(line[i][0], scale) || !onGrid(line[i][1], scale)
		}
	})
	if finer {
		return nil
	}
	return g.judge(g.rules.Coarse, classify.CodePrecisionDegraded, RuleCoarse, "/geometry", g.firstPosition(),
		"every coordinate has fewer than "+decimal(*least)+" decimals: precision was lost on the way here",
		"send the coordinates unrounded, or lower tolerance.min_decimals")
}

// firstPosition is a position of the geometry, for a message.
func (g *gating) firstPosition() string {
	text := ""
	geometry.EachLine(g.geometry.Shape, func(line []orb.Point) {
		if text == "" && len(line) > 0 {
			text = positionText(line[0][0], line[0][1])
		}
	})
	return text
}

// onGrid reports whether an ordinate has no decimals beyond those of the scale.
func onGrid(x, scale float64) bool {
	rounded := math.Round(x*scale) / scale
	return rounded == x
}

// simple checks simplicity.
func (g *gating) simple(ctx context.Context, shape orb.Geometry) error {
	if g.rules.Simplicity == Accept {
		return nil
	}
	fault, err := validity.Simple(ctx, shape)
	if fault == nil || err != nil {
		return err
	}
	v := violationFrom(fault)
	return g.judge(g.rules.Simplicity, classify.CodeGeometryNotSimple, RuleNotSimple, v.Path, positionText(v.X, v.Y),
		"the geometry meets itself near "+positionText(v.X, v.Y), "correct the geometry, or set geometry.simplicity: accept")
}

// valid checks simplicity and OGC validity, and repairs the geometry if the config asks for it.
func (g *gating) valid(ctx context.Context) error {
	if err := g.simple(ctx, g.geometry.Shape); err != nil {
		return err
	}
	violation, err := violationOf(ctx, g.geometry.Shape)
	switch {
	case violation == nil || err != nil:
		return err
	case g.rules.Validity == ValidityFlag:
		g.violation = violation
		return nil
	case g.rules.Validity == ValidityRepair:
		return g.repair(ctx, violation)
	default:
		return g.f.invalid(violation, classify.StageGate)
	}
}
