package transform

import (
	"context"
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// violationOf returns an OGC rule that a geometry breaks, or nil. Winding is not a rule here. The error is that of the
// context.
func violationOf(ctx context.Context, shape orb.Geometry, path string) (*Violation, error) {
	fault, err := validity.Valid(ctx, shape)
	return violationFrom(fault, path), err
}

// violationFrom converts a fault to the words of this package, which are the same. path is that of the geometry.
func violationFrom(fault *validity.Fault, path string) *Violation {
	if fault == nil {
		return nil
	}
	v := &Violation{Rule: Rule(fault.Rule), Path: path + fault.Path}
	v.HasLocation = !slices.ContainsFunc(fault.At[:], func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
	if v.HasLocation {
		v.X, v.Y = fault.At[0], fault.At[1]
	}
	return v
}
