package console

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// mapRowsShown is how many clusters the table under a map has.
const mapRowsShown = 12

// mapView is the content of the map's page. The script of the page draws it.
type mapView struct {
	MapAnswer
	Marks   []cluster // largest first
	Largest []cluster
	Letters int    // in all marks
	Out     string // bbox of a wider view; empty if there is none
}

// cluster is a mark on a map.
type cluster struct {
	ClusterProperties
	At    [2]float64
	Place string // position, for people
}

func (c *Console) mapPage(ctx context.Context, q query) (page, error) {
	asked := q.filled()
	of, err := c.clusters(ctx, asked)
	if err != nil {
		return page{}, err
	}
	out := c.blank("/map", "Map")
	v := &mapView{MapAnswer: of}
	out.Fresh, out.Query, out.Map = of.Fresh, q.values, v
	if farther, some := wider(of.View, of.Degrees); some && asked.get("bbox") != "" {
		v.Out = farther.String()
	}
	for _, f := range of.Features {
		v.Letters += f.Properties.Letters
		v.Marks = append(v.Marks, cluster{f.Properties, f.Geometry.Coordinates, placeName(f.Geometry.Coordinates, of.Degrees)})
	}
	slices.SortStableFunc(v.Marks, func(a, b cluster) int { return cmp.Compare(b.Letters, a.Letters) }) // small ones are drawn over large ones
	v.Largest = v.Marks[:min(len(v.Marks), mapRowsShown)]
	return out, nil
}

// placeName formats a position for people, exact to a few metres.
func placeName(p [2]float64, degrees bool) string {
	if !degrees {
		return fmt.Sprintf("%.0f, %.0f", p[0], p[1])
	}
	side := func(v float64, negative, positive string) string {
		if v < 0 {
			return negative
		}
		return positive
	}
	return fmt.Sprintf("%.4f°%s %.4f°%s", math.Abs(p[1]), side(p[1], "S", "N"), math.Abs(p[0]), side(p[0], "W", "E"))
}

// wider returns a box of three times the size with the same centre; false if that exceeds the globe.
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
