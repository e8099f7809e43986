package console

import (
	_ "embed"
	"fmt"
	"strings"
)

// worldText is the world of Natural Earth at 1:110 million: a line for each ring of land and each border, of steps in hundredths of a
// degree. The test of this file makes it from the npm package world-atlas.
//
//go:embed page/world.txt
var worldText string

// outline is a ring of land or a border between countries, in degrees.
type outline struct {
	extent
	land   bool
	points [][2]float64
}

// readWorld reads the outlines.
func readWorld(text string) ([]outline, error) {
	var out []outline
	for line := range strings.Lines(text) {
		o := outline{extent: noExtent()}
		kind, steps, _ := strings.Cut(strings.TrimSpace(line), " ")
		o.land = kind == "land"
		var x, y int
		for step := range strings.FieldsSeq(steps) {
			var dx, dy int
			if _, err := fmt.Sscanf(step, "%d,%d", &dx, &dy); err != nil {
				return nil, fmt.Errorf("read the outlines of the world: %q: %w", step, err)
			}
			x, y = x+dx, y+dy
			at := [2]float64{float64(x) / 100, float64(y) / 100}
			o.grow(at)
			o.points = append(o.points, at)
		}
		out = append(out, o)
	}
	return out, nil
}
