package geometry

import (
	"math"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// dimensions are the ordinates of a position besides x and y.
type dimensions struct{ z, m bool }

// ordinates returns how many numbers one position has.
func (d dimensions) ordinates() int {
	n := 2
	if d.z {
		n++
	}
	if d.m {
		n++
	}
	return n
}

// word returns the tag of well-known text.
func (d dimensions) word() string {
	switch d {
	case dimensions{z: true}:
		return "Z"
	case dimensions{m: true}:
		return "M"
	case dimensions{z: true, m: true}:
		return "ZM"
	default:
		return ""
	}
}

// collector is shared by both decoders: it counts, checks and stores positions.
type collector struct {
	format    Format
	code      classify.Code // of a syntax fault
	limits    Limits
	positions int
	parts     int
	z         []float64
	anyZ      bool
}

// fault returns an error at a place.
func (c *collector) fault(code classify.Code, rule Rule, at int, message, fix string) *Error {
	return &Error{Code: code, Format: c.format, Rule: rule, Offset: at, Message: message, Fix: fix}
}

// part counts a ring, a line, a polygon or a member.
func (c *collector) part(at int) error {
	if c.parts++; c.parts <= c.limits.MaxParts {
		return nil
	}
	return c.fault(classify.CodeLimitExceeded, RuleParts, at, "the geometry has more than "+decimal(c.limits.MaxParts)+" rings, lines and members",
		"split the feature, or raise limits.max_rings")
}

// room checks that n more positions are within the limit.
func (c *collector) room(n, at int) error {
	if n <= c.limits.MaxPositions-c.positions {
		return nil
	}
	return c.fault(classify.CodeLimitExceeded, RulePositions, at, "the geometry has more than "+decimal(c.limits.MaxPositions)+" positions",
		"simplify or split the feature, or raise limits.max_positions")
}

// keep checks the ordinates of one position and stores its height.
func (c *collector) keep(x, y, z float64, mayBeEmpty bool, at int) (orb.Point, error) {
	p := orb.Point{unsigned(x), unsigned(y)}
	switch {
	case mayBeEmpty && IsEmptyPoint(p):
		c.positions++ // it counts towards the limit like the others
		return EmptyPoint(), nil
	case !finite(x) || !finite(y) || math.IsInf(z, 0):
		return p, c.fault(classify.CodeCoordinateRange, RuleNotFinite, at, "an ordinate is not finite",
			"only the ordinates of an empty point may be NaN, and all of them are")
	}
	c.positions++
	c.z = append(c.z, unsigned(z))
	c.anyZ = c.anyZ || !math.IsNaN(z)
	return p, nil
}

// heights returns the heights of all positions, or nil.
func (c *collector) heights() []float64 {
	if !c.anyZ {
		return nil
	}
	return c.z
}

// measures refuses M unless it may be dropped.
func (c *collector) measures(d dimensions, at int) error {
	if !d.m || c.limits.DropMeasures {
		return nil
	}
	return c.fault(classify.CodeUnsupportedGeometry, RuleMeasures, at, "the geometry has measures (M), which GeoJSON cannot represent",
		"leave them out at the source, or let them be dropped (source.row.drop_measures: true)")
}

// line checks the positions of a line.
func (c *collector) line(points []orb.Point, at int) error {
	if len(points) != 1 {
		return nil
	}
	return c.fault(classify.CodeGeometryStructure, RuleLineLength, at, "a line has one position", "add a position, or send a point")
}

// ring checks the positions of a ring, which are the last ones stored.
func (c *collector) ring(points []orb.Point, at int) error {
	n := len(points)
	if n < 4 {
		return c.fault(classify.CodeGeometryStructure, RuleRingLength, at, "a ring has "+decimal(n)+" positions, fewer than four",
			"a ring has at least three corners and ends where it begins")
	}
	first, last := c.z[len(c.z)-n], c.z[len(c.z)-1]
	sameHeight := first == last || math.IsNaN(first) && math.IsNaN(last)
	if points[0] == points[n-1] && sameHeight {
		return nil
	}
	return c.fault(classify.CodeGeometryStructure, RuleRingClosed, at, "a ring is not closed",
		"repeat its first position, height included, at its end")
}

func (c *collector) tooDeep(at int) error {
	return c.fault(classify.CodeTooDeep, RuleDepth, at, "geometry collections are nested deeper than "+decimal(c.limits.MaxDepth)+" levels",
		"flatten the collection, or raise limits.max_collection_depth")
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// unsigned returns f, without the sign of a zero.
func unsigned(f float64) float64 {
	if f == 0 {
		return 0
	}
	return f
}
