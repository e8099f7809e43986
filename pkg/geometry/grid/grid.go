package grid

import "math"

// MaxDecimals is the most decimals that a grid has.
const MaxDecimals = 15

// mostUnits is how many units an ordinate has at most on the grid of [Finest]: five
// bits less than a double can hold, so that an ordinate is within 1/32 of a unit
// of its place on the grid.
const mostUnits = 1 << 48

// mostRounded is from how many units on nothing is rounded: a double that was
// rounded there may not round to itself, as its product with the scale is half a
// unit off.
const mostRounded = 1 << 50

// Grid is a decimal grid. The zero Grid is not ready: see [Of] and [Finest].
type Grid struct {
	decimals int
	scale    float64 // units for each 1
}

// Of returns the grid of ordinates with a number of decimals. Below zero it is the
// one of tens, hundreds and so on.
func Of(decimals int) Grid { return Grid{decimals, math.Pow10(decimals)} }

// Finest returns the finest grid on which ordinates up to reach, in absolute
// value, can be told apart and computed with safely: 12 decimals for degrees.
func Finest(reach float64) Grid {
	decimals := MaxDecimals
	if reach > 0 {
		decimals = min(decimals, int(math.Floor(math.Log10(mostUnits/reach))))
	}
	return Of(decimals)
}

// Decimals is the number of decimals.
func (g Grid) Decimals() int { return g.decimals }

// Cell is the distance of two neighbours on the grid.
func (g Grid) Cell() float64 { return 1 / g.scale }

// Units returns the place on the grid that is nearest to x, half away from zero.
// It is false for what is too big to have that many decimals.
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

// Value is the ordinate of a place on the grid.
func (g Grid) Value(units float64) float64 { return units / g.scale }

// Round rounds x to the grid, without a negative zero. What is too big to have
// that many decimals stays as it is.
func (g Grid) Round(x float64) float64 {
	units, ok := g.Units(x)
	if !ok {
		return x
	}
	return g.Value(units)
}
