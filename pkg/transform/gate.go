package transform

import (
	"math"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// rangeSlack is how far, in degrees, an ordinate may lie outside of its range:
// published data has 180.00000000000003, and 1e-9 degrees are 0.1 mm.
const rangeSlack = 1e-9

// Gate checks what the config demands of a geometry, before any attribute rule
// runs: coordinate reference system (S1-4), null, type, empty, range, OGC
// validity (S0-8), in this order. After the first of these it asks the filter: a
// feature that is left out comes back as a [*FilteredError]. With `validity: flag` an invalid geometry
// passes and f.Violation says why. The other errors are [*Error] of the gate stage.
//
// The gate on types looks at the feature's own geometry: where a
// GeometryCollection passes, what it consists of passes too.
func (t *Transformer) Gate(f *Feature) error {
	if err := checkCRS(f); err != nil {
		return err
	}
	if err := t.checkFilter(f); err != nil {
		return err
	}
	rules := &t.config.Geometry
	if f.Geometry.IsNull() {
		if rules.NullGeometry == Accept {
			return nil
		}
		return f.refuse(classify.CodeGeometryEmpty, RuleNullGeometry, "/geometry", "null", "the feature has no geometry",
			"send one, or set geometry.null_geometry: accept")
	}
	if err := t.checkType(f); err != nil {
		return err
	}
	if rules.EmptyGeometry == Reject && f.Geometry.Positions() == 0 {
		return f.refuse(classify.CodeGeometryEmpty, RuleEmptyGeometry, "/geometry", "", "the geometry has no position",
			"send null for no geometry, or set geometry.empty_geometry: accept")
	}
	if err := checkRange(f); err != nil {
		return err
	}
	return t.checkValidity(f)
}

// checkType compares the geometry's type with the list.
func (t *Transformer) checkType(f *Feature) error {
	allowed := t.config.Geometry.Types
	kind := f.Geometry.Type()
	for _, word := range allowed {
		if word == kind {
			return nil
		}
	}
	if len(allowed) == 0 {
		return nil
	}
	return f.refuse(classify.CodeGeometryType, RuleGeometryType, "/geometry/type", string(kind),
		"geometries of this type do not pass", "send one of "+quoteList(allowed)+", or extend geometry.types")
}

// checkRange refuses positions that are no degrees (RFC 7946 section 4): most
// often a file in a projected system that does not say so.
func checkRange(f *Feature) error {
	bad, index := firstOutside(f.Geometry.Shape)
	if index < 0 {
		return nil
	}
	fix := "send longitude within ±180 and latitude within ±90"
	switch lon, lat := math.Abs(bad[0]), math.Abs(bad[1]); {
	case max(lon, lat) > 1000:
		fix = "they look like the metres of a projected system: transform them to WGS 84"
	case lon <= 90 && lat <= 180:
		fix = "longitude and latitude look swapped: send longitude first"
	}
	value := append(appendFloat([]byte{'['}, bad[0]), ',')
	return f.refuse(classify.CodeCoordinateRange, RuleRange, "/geometry"+positionPath(f.Geometry.Shape, index),
		string(append(appendFloat(value, bad[1]), ']')), "a position lies outside of longitude and latitude", fix)
}

// firstOutside returns the first position that is out of range and its place
// among all positions, or -1.
func firstOutside(shape orb.Geometry) (bad orb.Point, index int) {
	index = -1
	n := 0
	eachLine(shape, func(line []orb.Point) {
		for _, p := range line {
			// Written so that a NaN is outside.
			inside := math.Abs(p[0]) <= 180+rangeSlack && math.Abs(p[1]) <= 90+rangeSlack
			if !inside && index < 0 {
				bad, index = p, n
			}
			n++
		}
	})
	return bad, index
}

// positionPath returns the JSON pointer, below the geometry, of the position
// with a place among all positions.
func positionPath(shape orb.Geometry, index int) string {
	switch shape := shape.(type) {
	case orb.MultiPoint:
		return "/coordinates/" + decimal(index)
	case orb.LineString:
		return "/coordinates/" + decimal(index)
	case orb.MultiLineString:
		i, j := locateLine(shape, index)
		return "/coordinates/" + decimal(i) + "/" + decimal(j)
	case orb.Polygon:
		i, j := locateLine(shape, index)
		return "/coordinates/" + decimal(i) + "/" + decimal(j)
	case orb.MultiPolygon:
		for i, polygon := range shape {
			if n := (Geometry{Shape: polygon}).Positions(); index >= n {
				index -= n
				continue
			}
			ring, j := locateLine(polygon, index)
			return "/coordinates/" + decimal(i) + "/" + decimal(ring) + "/" + decimal(j)
		}
	case orb.Collection:
		for i, member := range shape {
			n := Geometry{Shape: member}.Positions()
			if index < n {
				return "/geometries/" + decimal(i) + positionPath(member, index)
			}
			index -= n
		}
	}
	return "/coordinates"
}

// locateLine turns a place among all positions into line and place.
func locateLine[L ~[]orb.Point](lines []L, index int) (line, place int) {
	for i, l := range lines {
		if index < len(l) {
			return i, index
		}
		index -= len(l)
	}
	return len(lines), index
}

// checkValidity asks for OGC validity.
func (t *Transformer) checkValidity(f *Feature) error {
	f.Violation = violationOf(f.Geometry.Shape, "/geometry")
	if f.Violation == nil || t.config.Geometry.Validity == ValidityFlag {
		return nil
	}
	return f.invalid(classify.StageGate)
}

// invalid makes the error of an invalid geometry.
func (f *Feature) invalid(stage classify.Stage) *Error {
	return &Error{Code: classify.CodeGeometryInvalid, Stage: stage, Rule: string(f.Violation.Rule), Path: f.Violation.Path,
		Message: f.Violation.Error(), Fix: "mend the geometry, or set geometry.validity: flag", Feature: f.IDString(), Err: f.Violation}
}
