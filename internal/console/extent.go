package console

import (
	"fmt"
	"math"
	"strings"
)

// extent is the smallest rectangle around places.
type extent struct{ west, south, east, north float64 }

// noExtent is around nothing.
func noExtent() extent { return extent{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)} }

func (e *extent) grow(p [2]float64) {
	e.west, e.south, e.east, e.north = min(e.west, p[0]), min(e.south, p[1]), max(e.east, p[0]), max(e.north, p[1])
}

// squeeze is by how much a degree of longitude is narrower than one of latitude in its middle, but not less than least.
func (e *extent) squeeze(least float64) float64 {
	return max(math.Cos((e.south+e.north)/2*math.Pi/180), least)
}

// draw appends a line as SVG path data; end is Z for a ring.
func draw(d *strings.Builder, line [][2]float64, at func([2]float64) [2]float64, end string) {
	for i, p := range line {
		q := at(p)
		fmt.Fprintf(d, "%c%.1f %.1f", "ML"[min(i, 1)], q[0], q[1])
	}
	d.WriteString(end)
}
