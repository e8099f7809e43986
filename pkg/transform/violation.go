package transform

import "github.com/switchback-geo/switchback/pkg/transform/internal/numbers"

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

// Error returns one line: what is broken, and where.
func (v *Violation) Error() string {
	text := v.Rule.sentence()
	if v.HasLocation {
		text += " near " + string(numbers.AppendFloat(append(numbers.AppendFloat(nil, v.X), ' '), v.Y))
	}
	return text
}

// Reason returns the text that `validity: flag` writes: the rule, the place and the part.
func (v *Violation) Reason() string {
	reason := string(v.Rule)
	if v.HasLocation {
		reason += " near " + string(numbers.AppendFloat(append(numbers.AppendFloat(nil, v.X), ' '), v.Y))
	}
	return reason + " (" + v.Path + ")"
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
		return "the holes of a polygon cut its interior apart"
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
