package transform

import (
	"math"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform/internal/shapes"
	"github.com/switchback-geo/switchback/pkg/transform/internal/world"
)

// nearPole is how far, in degrees, an ordinate may exceed its range to count as badly computed, and not as another
// ordinate: 0.01 degrees are a kilometre.
const nearPole = 0.01

// checkDegrees refuses positions that are not longitude and latitude. The most frequent cause is a file in a projected
// system that does not name it. [Transformer.Map] finds geometries that can be transformed only in part.
func checkDegrees(f *Feature, g Geometry) error {
	bad, index := world.FirstOutside(g.Shape)
	if index < 0 {
		return nil
	}
	fix := "send longitude within ±180 and latitude within ±90"
	switch lon, lat := math.Abs(bad[0]), math.Abs(bad[1]); {
	case max(lon, lat) > 1000:
		fix = "they look like the metres of a projected system: set geometry.source_crs to it"
		if words := candidates(bad[0], bad[1]); words != "" {
			fix += ", perhaps " + words
		}
	case lon <= 180+nearPole && lat <= 90+nearPole:
		fix = "a longitude ends at ±180 and a latitude at ±90: round it inwards at the source"
	case lon <= 90 && lat <= 180:
		fix = "longitude and latitude look swapped: send longitude first"
	}
	return f.refuse(classify.CodeCoordinateRange, RuleRange, "/geometry"+shapes.PositionPath(g.Shape, index),
		positionText(bad[0], bad[1]), "a position lies outside of longitude and latitude", fix)
}

// checkFinite refuses infinity and NaN, which a binary format may contain.
func checkFinite(f *Feature, g Geometry) error {
	n := 0
	index := -1
	geometry.EachLine(g.Shape, func(line []orb.Point) {
		for _, p := range line {
			if sum := p[0] + p[1]; index < 0 && (math.IsNaN(sum) || math.IsInf(sum, 0)) {
				index = n
			}
			n++
		}
	})
	if index < 0 {
		return nil
	}
	return f.refuse(classify.CodeCoordinateRange, RuleNotFinite, "/geometry"+shapes.PositionPath(g.Shape, index), "", "an ordinate is not finite", "send numbers")
}

// toTarget transforms a geometry to the target system; heights do not change.
func (t *Transformer) toTarget(f *Feature, source *crs.CRS, transform *crs.Transform, g Geometry) (Geometry, error) {
	index, first := 0, -1
	var failed error
	shape := geometry.Moved(g.Shape, func(p orb.Point) orb.Point {
		x, y, err := transform.Forward(p[0], p[1])
		if err != nil && failed == nil {
			failed, first = err, index
		}
		index++
		return orb.Point{x, y}
	})
	if failed != nil {
		return Geometry{}, t.outside(f, source, g, first, failed)
	}
	return Geometry{Shape: shape, Z: g.Z}, nil
}

// invalid returns the error for an invalid geometry.
func (f *Feature) invalid(v *Violation, stage classify.Stage) *Error {
	value := ""
	if v.HasLocation {
		value = positionText(v.X, v.Y)
	}
	return &Error{Code: classify.CodeGeometryInvalid, Stage: stage, Rule: string(v.Rule), Path: v.Path, Value: value,
		Message: v.Error(), Fix: "correct the geometry, or set geometry.validity: flag", Feature: f.IDString(), Err: v}
}
