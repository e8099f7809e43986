package transform

import (
	"context"
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// Violation is a rule of OGC Simple Features that a geometry breaks, and the place.
type Violation struct {
	// Rule is the rule; see [Rules].
	Rule Rule

	// Path is the JSON pointer of the part that breaks it, such as
	// "/geometry/coordinates/0".
	Path string

	// X and Y are a place where it is broken, if HasLocation: a point where rings meet that must not, or the westernmost
	// position of a misplaced ring.
	X, Y        float64
	HasLocation bool
}

// violationOf returns an OGC rule that a geometry breaks, or nil. Winding is not a rule here. The error is that of the
// context.
func violationOf(ctx context.Context, shape orb.Geometry) (*Violation, error) {
	fault, err := validity.Valid(ctx, shape)
	return violationFrom(fault), err
}

// violationFrom converts a fault to the words of this package, which are the same.
func violationFrom(fault *validity.Fault) *Violation {
	if fault == nil {
		return nil
	}
	v := &Violation{Rule: Rule(fault.Rule), Path: "/geometry" + fault.Path}
	v.HasLocation = !slices.ContainsFunc(fault.At[:], func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
	if v.HasLocation {
		v.X, v.Y = fault.At[0], fault.At[1]
	}
	return v
}

// Error returns one line: what is broken, and where.
func (v *Violation) Error() string { return v.Rule.sentence() + v.near() }

// Reason returns the text that `validity: flag` writes: the rule, the place and the part.
func (v *Violation) Reason() string {
	return string(v.Rule) + v.near() + " (" + v.Path + ")"
}

// near writes the place, or returns "" if there is none.
func (v *Violation) near() string {
	if !v.HasLocation {
		return ""
	}
	return " near " + string(numbers.AppendFloat(append(numbers.AppendFloat(nil, v.X), ' '), v.Y))
}

// sentence describes a violation of the rule.
func (r Rule) sentence() string {
	switch r {
	case RuleOnePoint:
		return "a line has only one distinct position"
	case RuleRingLength:
		return "a ring has no positions"
	case RuleRingClosed:
		return "a ring is not closed"
	case RuleRingSimple:
		return "a ring meets itself"
	case RuleNestedRings:
		return "a hole lies inside of another hole"
	case RuleHoleOutside:
		return "a hole lies outside of its polygon"
	case RuleRingsMultiTouch:
		return "two rings of a polygon meet in more than one point"
	case RuleInteriorDisconnected:
		return "the holes of a polygon divide its interior"
	case RulePolygonsOverlap:
		return "two polygons overlap or share an edge"
	case RuleNotFinite:
		return "an ordinate is not finite"
	case RulePole:
		return "a polygon around a pole may not be valid: a ring of it meets itself or another one, or a hole lies outside"
	case RuleAntimeridian:
		return "the geometry crosses the 180th meridian"
	case RuleCollapsed:
		return "rounding leaves nothing of a line or ring"
	default: // not a rule of validity
	}
	return string(r)
}
