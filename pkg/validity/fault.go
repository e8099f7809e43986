package validity

import "github.com/paulmach/orb"

// Rule is what a geometry breaks. The list is closed.
type Rule string

// Rules of OGC Simple Features (06-103r4, section 6.1).
const (
	NotFinite            Rule = "not_finite"            // an ordinate is a NaN or infinite
	OneDistinctPoint     Rule = "one_distinct_point"    // a line or ring needs two distinct positions
	RingLength           Rule = "ring_length"           // a ring has no position
	RingClosed           Rule = "ring_closed"           // a ring does not end where it begins
	RingNotSimple        Rule = "ring_not_simple"       // a ring touches or crosses itself
	NestedRings          Rule = "nested_rings"          // a hole lies in a hole
	HoleOutside          Rule = "hole_outside_shell"    // a hole lies outside of its exterior ring
	RingsTouch           Rule = "rings_touch"           // two rings of a polygon cross, share an edge, or touch in two points
	InteriorDisconnected Rule = "interior_disconnected" // rings divide the interior of a polygon
	PolygonsOverlap      Rule = "polygons_overlap"      // polygons of one geometry overlap or share an edge
	NotSimple            Rule = "not_simple"            // a line meets itself, or a MultiPoint has a position twice
)

// Rules lists every [Rule].
func Rules() []Rule {
	return []Rule{
		NotFinite, OneDistinctPoint, RingLength, RingClosed, RingNotSimple, NestedRings, HoleOutside,
		RingsTouch, InteriorDisconnected, PolygonsOverlap, NotSimple,
	}
}

// Fault is one rule that a geometry breaks. A geometry may break several; which one is found only depends on the
// geometry.
type Fault struct {
	Rule Rule

	// Path is the JSON pointer of the part that breaks it, from the geometry as GeoJSON writes it: "/coordinates/0" is
	// the exterior ring of a Polygon. If two rings break a rule together, it is the later one.
	Path string

	// At is a place where the rule is broken: for rings that cross or touch, a point that they share; for a misplaced
	// ring, its westernmost position. It is not finite for [NotFinite] and for [RingLength].
	At orb.Point
}

// Error returns the rule and the part.
func (f *Fault) Error() string { return string(f.Rule) + " (" + f.Path + ")" }
