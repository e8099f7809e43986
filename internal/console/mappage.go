package console

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// mapRowsShown is how many clusters stand in the table under a map.
const mapRowsShown = 12

// mapView is what the page of a map shows.
type mapView struct {
	Land, Borders string // SVG path data
	Grid          []gridLine
	Marks         []cluster
	Largest       []cluster // first
	Letters       int       // in all marks
	NoPlace       int
	Outside       int
	Degrees       bool
	Out           string // bbox of a view that is farther away; empty without one
}

// cluster is a mark on a map.
type cluster struct {
	X, Y, Radius float64
	Letters      int
	Pending      int
	Short        string           // of the number, where there is room for it
	Place        string           // for people
	Area         deadletters.BBox // of its cell
	Example      string
}

func (c *Console) mapPage(ctx context.Context, q query) (page, error) {
	asked := q.filled()
	of, err := c.clusters(ctx, asked)
	if err != nil {
		return page{}, err
	}
	out := c.blank("/map", "Map")
	out.Fresh, out.Query = of.Fresh, q.values
	v := &mapView{NoPlace: of.NoPlace, Outside: of.Outside, Degrees: of.Degrees}
	out.Map = v
	if farther, some := wider(of.View, of.Degrees); some && asked.get("bbox") != "" {
		v.Out = farther.String()
	}
	if len(of.Features) == 0 {
		return out, nil
	}
	v.draw(of, c.world)
	return out, nil
}

// draw puts the clusters on a sheet.
func (v *mapView) draw(of MapAnswer, world []outline) {
	places := make([][2]float64, 0, len(of.Features))
	for _, f := range of.Features {
		place := f.Geometry.Coordinates
		if of.Degrees && of.View.Crosses() && place[0] < 0 {
			place[0] += 360
		}
		places = append(places, place)
	}
	on := newSheet(places, of.Degrees)
	v.Land, v.Borders, v.Grid = on.path(world, true), on.path(world, false), on.grid()
	for i, f := range of.Features {
		x, y := on.at(places[i][0], places[i][1])
		p := f.Properties
		m := cluster{X: x, Y: y, Radius: math.Round(10*(5+3*math.Log10(float64(p.Letters)))) / 10, Letters: p.Letters, Pending: p.Pending, Area: p.BBox, Example: p.Example, Place: on.name(f.Geometry.Coordinates)}
		if p.Letters >= 100 {
			m.Short = short(p.Letters)
		}
		v.Letters += p.Letters
		v.Marks = append(v.Marks, m)
	}
	slices.SortStableFunc(v.Marks, func(a, b cluster) int { return cmp.Compare(b.Letters, a.Letters) }) // small ones are drawn over large ones
	v.Largest = v.Marks[:min(len(v.Marks), mapRowsShown)]
}

// name writes a place for people.
func (s sheet) name(p [2]float64) string {
	step := roundStep(sheetWidth / s.scaleX / 1000)
	if !s.degrees {
		return s.label(p[0], step, "", "", false) + ", " + s.label(p[1], step, "", "", false)
	}
	return s.label(p[1], step, "N", "S", false) + " " + s.label(p[0], step, "E", "W", true)
}

// short writes a number in at most four characters.
func short(n int) string {
	switch {
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
	case n >= 10_000:
		return strconv.Itoa(n/1000) + "k"
	case n >= 1000:
		return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + "k"
	default:
		return strconv.Itoa(n)
	}
}
