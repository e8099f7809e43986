package grid

import "math"

// MaxDecimals is the largest number of decimals of a grid.
const MaxDecimals = 15

// mostUnits is the largest ordinate on the grid of [Finest], in units. It has five bits less than a double can hold, so
// an ordinate is within 1/32 of a unit of its place on the grid.
const mostUnits = 1 << 48

// mostRounded is the number of units from which nothing is rounded. A larger double may not round to itself, because its
// product with the scale is off by half a unit.
const mostRounded = 1 << 50

// Grid is a decimal grid. [Of] and [Finest] create it.
type Grid struct {
	decimals int
	scale    float64 // units per 1
}

// Of returns the grid with a number of decimals. A negative number is a grid of tens, hundreds and so on.
func Of(decimals int) Grid { return Grid{decimals, math.Pow10(decimals)} }

// Finest returns the finest grid on which ordinates of at most reach, in absolute value, are distinct and safe to
// compute with: 12 decimals for degrees.
func Finest(reach float64) Grid {
	decimals := MaxDecimals
	if reach > 0 {
		decimals = min(decimals, int(math.Floor(math.Log10(mostUnits/reach))))
	}
	return Of(decimals)
}

// Decimals returns the number of decimals.
func (g Grid) Decimals() int { return g.decimals }

// Cell returns the distance between two neighbours on the grid.
func (g Grid) Cell() float64 { return 1 / g.scale }

// Units returns the place on the grid that is nearest to x, half away from zero. It returns false if x is too large to
// have that many decimals.
func (g Grid) Units(x float64) (units float64, ok bool) {
	scaled := x * g.scale
	if !(math.Abs(scaled) < mostRounded) {
		return 0, false
	}
	whole := int64(scaled)
	switch rest := scaled - float64(whole); { // exact
	case rest >= 0.5:
		whole++
	case rest <= -0.5:
		whole--
	}
	return float64(whole), true
}

// Value returns the ordinate of a place on the grid.
func (g Grid) Value(units float64) float64 { return units / g.scale }

// Round rounds x to the grid and returns no negative zero. It returns x itself if x is too large to have that many
// decimals.
func (g Grid) Round(x float64) float64 {
	units, ok := g.Units(x)
	if !ok {
		return x
	}
	return g.Value(units)
}
