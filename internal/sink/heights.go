package sink

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// uneven returns an error for a geometry of which only some positions have a height. PostGIS has no form for it: it
// would keep NaN, which ST_AsGeoJSON turns into invalid JSON, and 0 is a height that nobody sent.
func uneven(key []byte, g transform.Geometry) error {
	lacks := slices.IndexFunc(g.Z, math.IsNaN)
	if lacks < 0 {
		return nil
	}
	return &transform.Error{
		Code: classify.CodeGeometryDimension, Stage: classify.StageSink, Path: "/geometry", Rule: string(transform.RuleDimension), Feature: string(key),
		Message: fmt.Sprintf("position %d has no height and others have one, which PostGIS cannot keep", lacks+1),
		Fix:     "send a height in each position or in none, or set geometry.dimension: drop_z",
	}
}
