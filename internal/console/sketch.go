package console

import (
	"encoding/json"
	"math"
	"strings"
)

// sketch is a drawing of the geometry of one feature.
type sketch struct {
	Areas, Lines string // SVG path data
	Points       [][2]float64
	Mark         *[2]float64 // where it breaks a rule, or has the refused value
	Width        float64
	Height       float64
}

const (
	sketchWidth, sketchHeight = 640.0, 360.0
	maxDrawn                  = 20_000 // positions; of more there is no sketch
	maxExtent                 = 1e12   // of what is a place in any system
)

// drawing collects the positions of a geometry.
type drawing struct {
	areas, lines, points [][][2]float64
	positions            int
}

// geometryJSON is what a sketch needs of a GeoJSON geometry.
type geometryJSON struct {
	Type        string          `json:"type"`
	Coordinates json.RawMessage `json:"coordinates"`
	Geometries  []geometryJSON  `json:"geometries"`
}

// newSketch draws a feature, and marks a place or the position at a path in it. It is nil for what has no shape that could be drawn.
func newSketch(feature []byte, place *[2]float64, path string) *sketch {
	var f struct{ Geometry *geometryJSON }
	if json.Unmarshal(feature, &f) != nil || f.Geometry == nil {
		return nil
	}
	var d drawing
	if !d.geometry(f.Geometry) || d.positions == 0 {
		return nil
	}
	if place == nil {
		place = positionAt(feature, path)
	}
	return d.fit(place)
}

// geometry collects a geometry; false when there is too much of it, or it is not one.
func (d *drawing) geometry(g *geometryJSON) bool {
	for i := range g.Geometries {
		if !d.geometry(&g.Geometries[i]) {
			return false
		}
	}
	to := &d.lines
	switch g.Type {
	case "Point", "MultiPoint":
		to = &d.points
	case "Polygon", "MultiPolygon":
		to = &d.areas
	case "GeometryCollection":
		return true
	}
	var coordinates any
	if json.Unmarshal(g.Coordinates, &coordinates) != nil {
		return false
	}
	if p, is := position(coordinates); is {
		coordinates = []any{[]any{p[0], p[1]}}
	}
	return d.walk(coordinates, to)
}

// walk collects the lines of nested arrays.
func (d *drawing) walk(of any, to *[][][2]float64) bool {
	list, is := of.([]any)
	if !is {
		return false
	}
	var line [][2]float64
	for _, inner := range list {
		if p, is := position(inner); is {
			line = append(line, p)
		} else if !d.walk(inner, to) {
			return false
		}
	}
	if len(line) > 0 {
		*to = append(*to, line)
	}
	d.positions += len(line)
	return d.positions <= maxDrawn
}

func position(of any) (p [2]float64, is bool) {
	list, isList := of.([]any)
	if !isList || len(list) < 2 {
		return p, false
	}
	x, isX := list[0].(float64)
	y, isY := list[1].(float64)
	return [2]float64{x, y}, isX && isY
}

// positionAt returns the position that a path names, or of which it names an ordinate.
func positionAt(feature []byte, path string) *[2]float64 {
	for range 2 {
		from, to, found := locate(feature, path)
		if !found {
			return nil
		}
		var at any
		if json.Unmarshal(feature[from:to], &at) == nil {
			if p, is := position(at); is {
				return &p
			}
		}
		path = path[:strings.LastIndexByte(path, '/')]
	}
	return nil
}

// fit scales what was collected to the size of a sketch. Degrees are narrower away from the equator.
func (d *drawing) fit(place *[2]float64) *sketch {
	around := noExtent()
	for _, lines := range [][][][2]float64{d.areas, d.lines, d.points} {
		for _, line := range lines {
			for _, p := range line {
				around.grow(p)
			}
		}
	}
	if place != nil {
		around.grow(*place)
	}
	west, south, east, north := around.west, around.south, around.east, around.north
	if east-west > maxExtent || north-south > maxExtent {
		return nil
	}
	squeeze := 1.0
	if math.Abs(south) <= 90 && math.Abs(north) <= 90 && math.Abs(west) <= 360 && math.Abs(east) <= 360 {
		squeeze = around.squeeze(0.05)
	}
	const margin = 16
	scale := min((sketchWidth-2*margin)/max((east-west)*squeeze, 1e-12), (sketchHeight-2*margin)/max(north-south, 1e-12))
	if east == west && north == south {
		scale = 1
	}
	at := func(p [2]float64) [2]float64 {
		return [2]float64{sketchWidth/2 + (p[0]-(west+east)/2)*squeeze*scale, sketchHeight/2 - (p[1]-(south+north)/2)*scale}
	}
	out := &sketch{Width: sketchWidth, Height: sketchHeight, Areas: pathData(d.areas, at, "Z"), Lines: pathData(d.lines, at, "")}
	for _, line := range d.points {
		for _, p := range line {
			out.Points = append(out.Points, at(p))
		}
	}
	if place != nil {
		p := at(*place)
		out.Mark = &p
	}
	return out
}

func pathData(lines [][][2]float64, at func([2]float64) [2]float64, end string) string {
	var text strings.Builder
	for _, line := range lines {
		draw(&text, line, at, end)
	}
	return text.String()
}
