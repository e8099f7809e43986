package sink

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// uneven returns an error for a geometry of which some positions have a height and others have none. PostGIS has no form for it: it would
// keep NaN, of which ST_AsGeoJSON makes invalid JSON, and 0 is a height that nobody has sent.
func uneven(key []byte, g transform.Geometry) error {
	n := 0
	lacks := lacksHeight(g.Shape, g.Z, &n)
	if lacks < 0 {
		return nil
	}
	return &transform.Error{
		Code: classify.CodeGeometryDimension, Stage: classify.StageSink, Path: "/geometry", Rule: string(transform.RuleDimension), Feature: string(key),
		Message: fmt.Sprintf("position %d has no height and others have one, which PostGIS cannot keep", lacks+1),
		Fix:     "send a height in each position or in none, or set geometry.dimension: drop_z",
	}
}

// lacksHeight returns the first position that has no height and is no empty point, or -1. n counts the positions before the shape. Without
// heights at all there is none.
func lacksHeight(shape orb.Geometry, z []float64, n *int) int {
	if z == nil {
		return -1
	}
	points := func(list []orb.Point) int {
		for _, p := range list {
			if at := *n; at < len(z) && math.IsNaN(z[at]) && !geometry.IsEmptyPoint(p) {
				return at
			}
			*n++
		}
		return -1
	}
	var parts []orb.Geometry
	switch shape := shape.(type) {
	case orb.Point:
		return points([]orb.Point{shape})
	case orb.MultiPoint:
		return points(shape)
	case orb.LineString:
		return points(shape)
	case orb.Ring:
		return points(shape)
	case orb.MultiLineString:
		parts = geometries(shape)
	case orb.Polygon:
		parts = geometries(shape)
	case orb.MultiPolygon:
		parts = geometries(shape)
	case orb.Collection:
		parts = shape
	}
	for _, part := range parts {
		if at := lacksHeight(part, z, n); at >= 0 {
			return at
		}
	}
	return -1
}

func geometries[T orb.Geometry](list []T) []orb.Geometry {
	out := make([]orb.Geometry, len(list))
	for i, part := range list {
		out[i] = part
	}
	return out
}
