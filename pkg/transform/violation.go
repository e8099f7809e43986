package transform

import (
	"fmt"
	"strconv"
	"strings"
)

// Violation is a rule of OGC Simple Features that a geometry breaks, and where.
type Violation struct {
	// Rule is the rule; see [Rules].
	Rule Rule

	// Path is the JSON pointer of the part that breaks it, such as
	// "/geometry/coordinates/0".
	Path string

	// X and Y are a place where it is broken, when HasLocation. For
	// [RuleRingSimple] that is a point where the ring meets itself.
	X, Y        float64
	HasLocation bool
}

// Error says what is broken and where, in one line.
func (v *Violation) Error() string {
	text := v.Rule.sentence()
	if v.HasLocation {
		text += " near " + string(appendFloat(append(appendFloat(nil, v.X), ' '), v.Y))
	}
	return text
}

// Reason is the text of the property that `validity: flag` writes: the rule,
// the place and the part.
func (v *Violation) Reason() string {
	reason := string(v.Rule)
	if v.HasLocation {
		reason += " near " + string(appendFloat(append(appendFloat(nil, v.X), ' '), v.Y))
	}
	return reason + " (" + v.Path + ")"
}

// sentence says in words what a violation of the rule is.
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
	case RuleCollapsed:
		return "rounding leaves nothing of a line or ring"
	default: // decided below
	}
	return "validity could not be decided"
}

// libraryRules pairs the words of peterstace/simplefeatures, whose error type is
// not exported, with ours. This is the only place that reads them; a test holds
// each to what the library says.
func libraryRules() []struct {
	text string
	rule Rule
} {
	return []struct {
		text string
		rule Rule
	}{
		{"non-empty LineString contains only one distinct XY value", RuleOnePoint},
		{"polygon ring empty", RuleRingLength},
		{"polygon ring not closed", RuleRingClosed},
		{"polygon ring not simple", RuleRingSimple},
		{"polygon has nested rings", RuleNestedRings},
		{"polygon interior ring outside of exterior ring", RuleHoleOutside},
		{"polygon has disconnected interior", RuleInteriorDisconnected},
		{"polygon rings intersect at multiple points", RuleRingsMultiTouch},
		{"multipolygon child polygons touch at multiple points", RulePolygonsOverlap},
		{"Inf not allowed", RuleNotFinite},
		{"NaN not allowed", RuleNotFinite},
	}
}

// translate turns an error of the library into a violation of the part at path.
func translate(err error, path string) *Violation {
	text := err.Error()
	v := &Violation{Rule: RuleUndecided, Path: path}
	for _, known := range libraryRules() {
		if strings.Contains(text, known.text) {
			v.Rule = known.rule
		}
	}
	for _, part := range []string{"polygon at index ", "ring at index "} {
		if _, rest, found := strings.Cut(text, part); found {
			index, _, _ := strings.Cut(rest, ":")
			if i, err := strconv.Atoi(index); err == nil {
				v.Path += "/" + decimal(i)
			}
		}
	}
	if _, rest, found := strings.Cut(text, "(at or near {"); found {
		_, err := fmt.Sscanf(rest, "%g %g}", &v.X, &v.Y)
		v.HasLocation = err == nil
	}
	return v
}
