package noding

import (
	"math"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry/grid"
)

// Raster is the grid of a network, together with the finer grid on which its segments lie.
type Raster struct {
	coarse, fine grid.Grid
	step         float64 // fine units per cell: 1 or an even number
}

// NewRaster returns a raster with the given number of decimals for ordinates of at most reach in absolute value. It uses
// fewer decimals if doubles of that size do not have as many that are safe to compute with.
func NewRaster(decimals int, reach float64) Raster {
	fine := grid.Finest(reach)
	if decimals >= fine.Decimals() {
		return Raster{fine, fine, 1}
	}
	return Raster{grid.Of(decimals), fine, math.Pow10(fine.Decimals() - decimals)}
}

// Finest returns the raster of ordinates that are not rounded.
func Finest(reach float64) Raster { return NewRaster(grid.MaxDecimals, reach) }

// Cell returns the width of a cell in the units of the ordinates.
func (r Raster) Cell() float64 { return r.coarse.Cell() }

// Place returns the place of a position on the finer grid. It lies in the cell to which package grid rounds the
// position, half away from zero.
func (r Raster) Place(p orb.Point) orb.Point {
	return orb.Point{r.place(p[0]), r.place(p[1])}
}

func (r Raster) place(x float64) float64 {
	units, _ := r.fine.Units(x)
	if r.step == 1 {
		return units
	}
	cell, _ := r.coarse.Units(x)
	centre := cell * r.step
	return min(max(units, centre-r.step/2), centre+r.step/2-1)
}

// pixel returns the cell that contains a place of the finer grid.
func (r Raster) pixel(place orb.Point) orb.Point {
	if r.step == 1 {
		return place
	}
	return orb.Point{math.Floor((place[0] + r.step/2) / r.step), math.Floor((place[1] + r.step/2) / r.step)}
}

// Position returns the position of a cell.
func (r Raster) Position(pixel orb.Point) orb.Point {
	return orb.Point{r.coarse.Value(pixel[0]) + 0, r.coarse.Value(pixel[1]) + 0} // adding 0 turns a negative zero into zero
}

// Area returns the area of a number of cells, in squared units of the ordinates.
func (r Raster) Area(cells float64) float64 { return cells * r.Cell() * r.Cell() }

// IsFinest reports whether the cells are those of the finer grid.
func (r Raster) IsFinest() bool { return r.step == 1 }
