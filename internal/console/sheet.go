package console

import (
	"math"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// The size of a map on a page, in its own units.
const sheetWidth, sheetHeight = 1200.0, 560.0

// sheet is a part of the world on a page: a plate carrée whose scale is right at its middle.
type sheet struct {
	west, north    float64
	scaleX, scaleY float64
	degrees        bool
}

// newSheet covers places with a margin. Numbers that are no degrees have the same scale in both directions.
func newSheet(places [][2]float64, degrees bool) sheet {
	around := noExtent()
	for _, p := range places {
		around.grow(p)
	}
	west, south, east, north := around.west, around.south, around.east, around.north
	least, squeeze := 100.0, 1.0 // metres, presumably
	if degrees {
		least = 0.001
		squeeze = around.squeeze(0.1)
	}
	wide, high := max((east-west)*squeeze, least)*1.1, max(north-south, least)*1.1
	scale := min(sheetWidth/wide, sheetHeight/high)
	if degrees {
		scale = max(scale, sheetHeight/180) // the world is not shown smaller
	}
	s := sheet{scaleX: scale * squeeze, scaleY: scale, degrees: degrees}
	s.west, s.north = (west+east)/2-sheetWidth/2/s.scaleX, (south+north)/2+sheetHeight/2/s.scaleY
	if degrees {
		s.north = min(max(s.north, -90+sheetHeight/s.scaleY), 90)
	}
	return s
}

func (s sheet) east() float64  { return s.west + sheetWidth/s.scaleX }
func (s sheet) south() float64 { return s.north - sheetHeight/s.scaleY }

// at returns where a place is on the sheet.
func (s sheet) at(x, y float64) (px, py float64) {
	return (x - s.west) * s.scaleX, (s.north - y) * s.scaleY
}

// path draws the outlines of land, or the borders: SVG path data.
func (s sheet) path(world []outline, land bool) string {
	if !s.degrees {
		return ""
	}
	end := ""
	if land {
		end = "Z"
	}
	var d strings.Builder
	for _, turn := range []float64{-360, 0, 360} { // the sheet may lie over the antimeridian
		for _, o := range world {
			if o.land != land || o.west+turn > s.east() || o.east+turn < s.west || o.south > s.north || o.north < s.south() {
				continue
			}
			draw(&d, o.points, func(p [2]float64) [2]float64 {
				x, y := s.at(p[0]+turn, p[1])
				return [2]float64{x, y}
			}, end)
		}
	}
	return d.String()
}

// gridLine is a meridian or parallel with its label.
type gridLine struct {
	X1, Y1, X2, Y2 float64
	Label          string
}

// grid returns lines at round numbers.
func (s sheet) grid() (lines []gridLine) {
	step := roundStep(sheetWidth / s.scaleX / 6)
	for x := math.Ceil(s.west/step) * step; x < s.east(); x += step {
		px, _ := s.at(x, 0)
		lines = append(lines, gridLine{px, 0, px, sheetHeight, s.label(x, step, "E", "W", true)})
	}
	step = roundStep(sheetHeight / s.scaleY / 4)
	for y := math.Ceil(s.south()/step) * step; y < s.north; y += step {
		_, py := s.at(0, y)
		lines = append(lines, gridLine{0, py, sheetWidth, py, s.label(y, step, "N", "S", false)})
	}
	return lines
}

// roundStep returns 1, 2 or 5 times a power of ten that is not smaller than about a number.
func roundStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= least {
			return factor * power
		}
	}
	return 10 * power
}

func (s sheet) label(v, step float64, above, below string, turns bool) string {
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	if !s.degrees {
		return strconv.FormatFloat(v, 'f', decimals, 64)
	}
	if turns {
		v = math.Remainder(v, 360)
	}
	side := above
	switch {
	case math.Abs(v) < step/2:
		side = ""
	case v < 0:
		side = below
	}
	return strconv.FormatFloat(math.Abs(v), 'f', decimals, 64) + "°" + side
}

// wider returns a box of three times the size about the same middle; false when that is all of the globe.
func wider(b deadletters.BBox, degrees bool) (deadletters.BBox, bool) {
	east := b.East
	if b.Crosses() {
		east += 360
	}
	wide, high := east-b.West, b.North-b.South
	out := deadletters.BBox{West: b.West - wide, South: b.South - high, East: east + wide, North: b.North + high}
	if !degrees {
		return out, true
	}
	if 3*wide >= 360 || 3*high >= 180 {
		return out, false
	}
	out.West, out.East = math.Remainder(out.West, 360), math.Remainder(out.East, 360)
	out.South, out.North = max(out.South, -90), min(out.North, 90)
	return out, true
}
