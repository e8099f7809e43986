package noding

import (
	"math"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry/grid"
)

// Raster is the grid of a network, and the finer one on which its segments lie.
type Raster struct {
	coarse, fine grid.Grid
	step         float64 // fine units of one cell: 1, or even
}

// NewRaster returns a raster with a number of decimals for ordinates up to reach in
// absolute value. Where doubles of that size have fewer decimals that can be
// computed with safely, the raster has those.
func NewRaster(decimals int, reach float64) Raster {
	fine := grid.Finest(reach)
	if decimals >= fine.Decimals() {
		return Raster{fine, fine, 1}
	}
	return Raster{grid.Of(decimals), fine, math.Pow10(fine.Decimals() - decimals)}
}

// Finest returns the raster of ordinates that are not rounded.
func Finest(reach float64) Raster { return NewRaster(grid.MaxDecimals, reach) }

// Cell is the width of a cell in the units of the ordinates.
func (r Raster) Cell() float64 { return r.coarse.Cell() }

// Place is where a position lies on the finer grid. It is in the cell that the
// position is rounded to by package grid, half away from zero.
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

// pixel is the cell that a place of the finer grid lies in.
func (r Raster) pixel(place orb.Point) orb.Point {
	if r.step == 1 {
		return place
	}
	return orb.Point{math.Floor((place[0] + r.step/2) / r.step), math.Floor((place[1] + r.step/2) / r.step)}
}

// Position is the position of a cell.
func (r Raster) Position(pixel orb.Point) orb.Point {
	return orb.Point{r.coarse.Value(pixel[0]) + 0, r.coarse.Value(pixel[1]) + 0} // without a negative zero
}

// Area is the area of a number of cells in the units of the ordinates.
func (r Raster) Area(cells float64) float64 { return cells * r.Cell() * r.Cell() }

// IsFinest reports whether the cells are those of the finer grid.
func (r Raster) IsFinest() bool { return r.step == 1 }
