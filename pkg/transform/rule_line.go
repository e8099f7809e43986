package transform

import "errors"

// keyOf returns the key of the mapping that decides about a rule, or "" for a rule that no key changes.
func keyOf(rule Rule) string {
	switch rule {
	case RuleBytes, RuleDepth, RuleCollectionDepth, RulePositions, RuleRings, RuleLiteralBytes, RuleNumberBytes:
		return "limits." + string(rule)
	case RuleCRS, RuleRange:
		return "geometry.source_crs"
	case RuleGeometryType:
		return "geometry.types"
	case RuleNullGeometry, RuleEmptyGeometry, RuleForeignMembers, RuleDimension, RuleCoarse, RuleAntimeridian, RuleBBox:
		return "geometry." + string(rule)
	case RuleNotSimple:
		return "geometry.simplicity"
	case RuleOnePoint, RuleRingSimple, RuleNestedRings, RuleHoleOutside, RuleRingsMultiTouch, RuleInteriorDisconnected,
		RulePolygonsOverlap, RuleCollapsed:
		return "geometry.validity"
	default: // rules of JSON, of RFC 7946 and of fields, which bring their own line
	}
	return ""
}

// placed adds the line of the deciding key to an error, if the file has it.
func (t *Transformer) placed(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.RuleLine == 0 {
		e.RuleLine = t.config.Lines[keyOf(Rule(e.Rule))]
	}
	return err
}
