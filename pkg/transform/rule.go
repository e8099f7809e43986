package transform

// Rule is the rule that a record broke, more precisely than its code. The list is closed, so that a rule can be a
// label, a key of a policy table, or a word in a query.
type Rule string

// Rules of the JSON text.
const (
	RuleSyntax          Rule = "json_syntax"
	RuleByteOrderMark   Rule = "byte_order_mark"
	RuleTruncated       Rule = "truncated"
	RuleUTF8            Rule = "utf8"
	RuleDuplicateMember Rule = "duplicate_member"
	RuleTrailingData    Rule = "trailing_data"
	RuleDepth           Rule = "max_depth"
	RuleCollectionDepth Rule = "max_collection_depth"
	RuleBytes           Rule = "max_bytes"
	RuleLiteralBytes    Rule = "max_literal_bytes"
	RuleNumberBytes     Rule = "max_number_bytes"
	RulePositions       Rule = "max_positions"
	RuleRings           Rule = "max_rings"
	RuleFeatures        Rule = "max_features"
	RuleNumberRange     Rule = "number_range"
	RuleEmptyValue      Rule = "empty_value"
)

// Rules of RFC 7946: members and their types.
const (
	RuleFeatureObject  Rule = "feature_object"   // section 3.2: the record is one Feature
	RuleMemberMissing  Rule = "member_missing"   // sections 3.1, 3.2: a mandatory member
	RuleMemberType     Rule = "member_type"      // a member of another JSON type
	RuleMemberCase     Rule = "member_case"      // section 1.4: members are case-sensitive
	RuleMemberMeaning  Rule = "member_meaning"   // section 7.1: a member of another GeoJSON type
	RuleTypeWord       Rule = "type_word"        // section 1.4: an unknown word under type
	RuleBBoxSize       Rule = "bbox_size"        // section 5: 4 or 6 numbers
	RuleNullOrdinate   Rule = "null_ordinate"    // section 3.1.1: ordinates are numbers
	RulePositionSize   Rule = "position_size"    // section 3.1.1: 2 or 3 ordinates
	RuleNesting        Rule = "nesting"          // section 3.1: arrays as deep as the type requires
	RuleLineLength     Rule = "line_length"      // section 3.1.4: 2 positions
	RuleRingLength     Rule = "ring_length"      // section 3.1.6: 4 positions
	RuleRingClosed     Rule = "ring_closed"      // section 3.1.6: first and last are the same
	RuleCRS            Rule = "crs"              // section 4: WGS 84
	RuleGeometryType   Rule = "geometry_type"    // a type that the config does not allow
	RuleNullGeometry   Rule = "null_geometry"    // config: geometry.null_geometry
	RuleEmptyGeometry  Rule = "empty_geometry"   // config: geometry.empty_geometry
	RuleForeignMembers Rule = "foreign_members"  // section 6.1; config: geometry.foreign_members
	RuleRange          Rule = "coordinate_range" // section 4: degrees
	RuleNotFinite      Rule = "not_finite"       // a NaN or an infinity, which JSON cannot represent
	RuleDimension      Rule = "dimension"        // config: geometry.dimension
	RuleCoarse         Rule = "coarse"           // config: tolerance.min_decimals
	RuleAntimeridian   Rule = "antimeridian"     // section 3.1.9: cut at the 180th meridian
	RuleBBox           Rule = "bbox"             // section 5: the bounds of the geometry
	RuleNotSimple      Rule = "not_simple"       // OGC 06-103r4, section 6.1.2.3
	RuleRequired       Rule = "required"         // a required field of the target
	RuleFieldType      Rule = "field_type"       // a field of the target with another type
	RuleFlattenedNames Rule = "flattened_names"  // two properties would have the same name
)

// Rules of repaired, cut and written geometries.
const (
	RuleCrossings       Rule = "max_crossings"        // limits.max_crossings
	RuleOutputPositions Rule = "max_output_positions" // limits.max_output_positions
	RuleOutputBytes     Rule = "max_output_bytes"     // limits.max_output_bytes
	RuleAreaChange      Rule = "max_area_change"      // geometry.max_area_change
	RulePole            Rule = "pole"                 // a polygon around a pole that may not be valid
)

// Rules of OGC Simple Features (06-103r4, section 6.1.11), as in a [Violation].
const (
	RuleOnePoint             Rule = "one_distinct_point"    // a line needs two distinct positions
	RuleRingSimple           Rule = "ring_not_simple"       // a ring touches or crosses itself
	RuleNestedRings          Rule = "nested_rings"          // a hole lies in a hole
	RuleHoleOutside          Rule = "hole_outside_shell"    // a hole lies outside its exterior
	RuleRingsMultiTouch      Rule = "rings_touch"           // two rings cross, share an edge or touch in two points
	RuleInteriorDisconnected Rule = "interior_disconnected" // holes divide the interior
	RulePolygonsOverlap      Rule = "polygons_overlap"      // polygons of one geometry overlap or share an edge
	RuleCollapsed            Rule = "collapsed_by_precision"
)

// Rules lists every [Rule].
func Rules() []Rule {
	return []Rule{
		RuleSyntax, RuleByteOrderMark, RuleTruncated, RuleUTF8, RuleDuplicateMember, RuleTrailingData,
		RuleDepth, RuleCollectionDepth, RuleBytes, RuleLiteralBytes, RuleNumberBytes, RulePositions, RuleRings,
		RuleFeatures, RuleNumberRange, RuleEmptyValue,
		RuleFeatureObject, RuleMemberMissing, RuleMemberType, RuleMemberCase, RuleMemberMeaning, RuleTypeWord,
		RuleBBoxSize, RuleNullOrdinate, RulePositionSize, RuleNesting, RuleLineLength, RuleRingLength, RuleRingClosed,
		RuleCRS, RuleGeometryType, RuleNullGeometry, RuleEmptyGeometry, RuleForeignMembers, RuleRange, RuleNotFinite,
		RuleDimension, RuleCoarse, RuleAntimeridian, RuleBBox, RuleNotSimple,
		RuleRequired, RuleFieldType, RuleFlattenedNames,
		RuleCrossings, RuleOutputPositions, RuleOutputBytes, RuleAreaChange, RulePole,
		RuleOnePoint, RuleRingSimple, RuleNestedRings, RuleHoleOutside, RuleRingsMultiTouch,
		RuleInteriorDisconnected, RulePolygonsOverlap, RuleCollapsed,
	}
}
