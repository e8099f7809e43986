package transform

import (
	"math"
	"strconv"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// maxLevels is the nesting of a MultiPolygon's coordinates, the deepest that exists: polygons, rings, positions,
// ordinates.
const maxLevels = 4

// coordinates has the coordinates member of one geometry before its type is known: the positions in a row, and where
// the arrays of each level end. Therefore the members of a geometry may come in any order and are read once.
type coordinates struct {
	points []orb.Point
	levels [maxLevels + 1]level // 1 is the coordinates array itself
	deep   int                  // level of the arrays that are positions; 0 if there is none yet
	first  int64                // place of the first position

	// Over all geometries of the feature:
	z     []float64 // third ordinates; empty while no position has one
	total int       // positions
	rings int       // arrays that are not positions, and members of collections
}

// level are the arrays at one depth of nesting.
type level struct {
	count int
	ends  []arrayEnd // of those that are not positions, in their order
	empty int64      // place of the first one that is empty, or -1
}

// arrayEnd is the end of an array: the number of arrays of the next level up to here, and where the array begins in the
// text.
type arrayEnd struct {
	children int
	start    int64
}

// clear forgets a feature. next forgets one geometry.
func (c *coordinates) clear() {
	c.z, c.total, c.rings = c.z[:0], 0, 0
	c.next()
}

func (c *coordinates) next() {
	c.points, c.deep = c.points[:0], 0
	for i := range c.levels {
		c.levels[i] = level{ends: c.levels[i].ends[:0], empty: -1}
	}
}

// heights returns the third ordinates of all positions, or nil.
func (c *coordinates) heights() []float64 {
	if len(c.z) == 0 {
		return nil
	}
	z := make([]float64, c.total)
	for i := copy(z, c.z); i < len(z); i++ {
		z[i] = math.NaN()
	}
	return z
}

// scan reads the coordinates member.
func (d *decoder) scan() error {
	if d.peek() != '[' {
		return d.wrongType("the coordinates are not an array", "send an array; an empty one has no position")
	}
	if d.scanFast() {
		return nil
	}
	return d.nested(1)
}

// nested reads one array of the coordinates at a level of nesting.
func (d *decoder) nested(at int) error {
	if err := d.open(); err != nil {
		return err
	}
	start := d.offset() - 1
	if d.peek() == '0' {
		return d.position(at, start)
	}
	if err := d.countRing(); err != nil {
		return err
	}
	empty := true
	for d.peek() != ']' {
		if d.peek() != '[' {
			return d.notAPosition()
		}
		if at == maxLevels || d.deep == at {
			return d.unevenNesting(start)
		}
		if err := d.nested(at + 1); err != nil {
			return err
		}
		empty = false
	}
	l := &d.levels[at]
	l.count++
	if empty && l.empty < 0 {
		l.empty = start
	}
	end := arrayEnd{start: start}
	if at < maxLevels {
		end.children = d.levels[at+1].count
	}
	l.ends = append(l.ends, end)
	return d.delimiter()
}

func (d *decoder) unevenNesting(start int64) error {
	return d.misplaced(RuleNesting, start, "positions are nested differently within one geometry, or too deep", "see RFC 7946 section 3.1")
}

// countRing counts towards MaxRings.
func (d *decoder) countRing() error {
	if d.rings++; d.rings <= d.limits.MaxRings {
		return nil
	}
	return d.fail(fault{code: classify.CodeLimitExceeded, rule: RuleRings, start: d.offset(),
		message: "the geometry has more than " + decimal(d.limits.MaxRings) + " rings, lines and polygons",
		fix:     "split the feature, or raise limits.max_rings"})
}

// position reads the ordinates of a position after its '['.
func (d *decoder) position(at int, start int64) error {
	if d.deep != 0 && d.deep != at {
		return d.unevenNesting(start)
	}
	if d.deep == 0 {
		d.deep, d.first = at, start
	}
	if d.total++; d.total > d.limits.MaxPositions {
		return d.fail(fault{code: classify.CodeLimitExceeded, rule: RulePositions, start: start,
			message: "the geometry has more than " + decimal(d.limits.MaxPositions) + " positions",
			fix:     "simplify or split the feature, or raise limits.max_positions"})
	}
	var ordinates [3]float64
	n := 0
	for ; d.peek() != ']'; n++ {
		if n == len(ordinates) {
			return d.misplaced(RulePositionSize, start, "a position has more than three ordinates", "leave out everything except longitude, latitude and height")
		}
		ordinate, err := d.ordinate("an ordinate is not a number")
		if err != nil {
			return err
		}
		ordinates[n] = ordinate
	}
	if n < 2 {
		return d.misplaced(RulePositionSize, start, "a position has fewer than two ordinates", "write longitude and latitude")
	}
	d.points = append(d.points, orb.Point{ordinates[0], ordinates[1]})
	d.height(n, ordinates[2])
	d.levels[at].count++
	return d.delimiter()
}

// height stores the third ordinate of the position that was just counted. The row of heights begins with the first
// position that has one.
func (d *decoder) height(ordinates int, z float64) {
	if ordinates < 3 && len(d.z) == 0 {
		return
	}
	for len(d.z) < d.total-1 {
		d.z = append(d.z, math.NaN())
	}
	if ordinates < 3 {
		z = math.NaN()
	}
	d.z = append(d.z, z)
}

// ordinate reads a number as a double. Negative zero becomes zero.
func (d *decoder) ordinate(message string) (float64, error) {
	if d.peek() != '0' {
		return 0, d.notANumber(message)
	}
	literal, start, err := d.number()
	if err != nil {
		return 0, err
	}
	ordinate, err := strconv.ParseFloat(literal, 64)
	if err != nil { // a JSON number can only be out of range
		return 0, d.fail(fault{code: classify.CodeNumberRange, rule: RuleNumberRange, start: start, end: d.offset(),
			message: "an ordinate is beyond the range of a double", fix: "send degrees"})
	}
	if ordinate == 0 {
		return 0, nil // without its sign
	}
	return ordinate, nil
}

// notANumber and notAPosition distinguish null, the most frequent case, from other values.
func (d *decoder) notANumber(message string) error {
	if d.peek() == 'n' {
		return d.nullOrdinate("an ordinate is null", "leave out the position, or send its numbers")
	}
	return d.wrongType(message, "send numbers, without quotes")
}

func (d *decoder) notAPosition() error {
	if d.peek() == 'n' {
		return d.nullOrdinate("null is in the place of a position", "leave it out")
	}
	return d.wrongType("the coordinates contain something other than arrays of numbers", "see RFC 7946 section 3.1")
}
