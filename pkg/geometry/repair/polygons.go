package repair

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/geometry/coverage"
	"github.com/switchback-geo/switchback/pkg/geometry/grid"
	"github.com/switchback-geo/switchback/pkg/geometry/noding"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// polygons makes polygons valid together. If single is true, the result is a Polygon if only one is left.
func (w *worker) polygons(polygons orb.MultiPolygon, path string, single bool) (orb.Geometry, error) {
	heights := w.take(geometry.Positions(polygons))
	cut := w.cut && slices.ContainsFunc(polygons, crossesPolygon)
	raster := w.raster(polygons, cut)
	if !cut {
		rounded := w.roundedPolygons(polygons)
		fault, err := validity.Valid(w.ctx, rounded)
		switch {
		case err != nil:
			return nil, err
		case fault == nil:
			w.give(heights)
			return typed(rounded, single), nil
		case fault.Rule == validity.NotFinite || fault.Rule == validity.RingClosed:
			return nil, &Error{Contradiction, fault}
		case raster.IsFinest(): // so fine that positions keep their values
			polygons = rounded
		}
	}
	w.out.Changed = true
	work := covering{polygons: polygons, heights: heights, path: path, single: single}
	work.fill(w.cut, cut)
	result, err := coverage.Of(w.ctx, work.input, raster, w.limits.noding())
	if err != nil {
		return nil, err
	}
	if !cut && w.grid == nil {
		err = work.guardParts(w.ctx, result)
	}
	if err == nil {
		err = work.guard(result)
	}
	if err == nil && geometry.Positions(result.Polygons) > w.limits.Positions {
		err = &Error{TooManyPositions, nil}
	}
	if err != nil {
		return nil, err
	}
	w.accept(&work, result, cut)
	if len(result.Polygons) == 0 {
		return nil, nil
	}
	return typed(result.Polygons, single), nil
}

// typed returns a Polygon if single is true and there is one polygon, otherwise a MultiPolygon.
func typed(polygons orb.MultiPolygon, single bool) orb.Geometry {
	if single && len(polygons) == 1 {
		return polygons[0]
	}
	return polygons
}

// accept adds a result to the output.
func (w *worker) accept(work *covering, result *coverage.Result, cut bool) {
	w.give(result.Heights)
	w.out.After += result.Area
	w.out.Sphere.After += onSphere(result.Polygons)
	sum := 0.0
	for _, part := range result.Parts {
		sum += part
	}
	if cut {
		w.out.Overlap = w.out.Overlap || result.Area < sum-slack(sum)
		for i, area := range work.written {
			w.out.Before += area
			w.out.Sphere.Before += work.sphere[i]
		}
		if w.out.Unsure == "" {
			w.out.Unsure = work.unsure(result)
		}
	} else {
		w.out.Before += areaOf(work.polygons)
		w.out.Sphere.Before += onSphere(work.polygons)
	}
	for ring, gone := range result.Collapsed[:len(work.at)] {
		if gone && len(work.polygons[work.at[ring].polygon][work.at[ring].ring]) > 0 {
			w.out.Collapsed = append(w.out.Collapsed, work.pointer(ring))
		}
	}
}

// roundedPolygons returns a rounded copy of polygons, or the polygons themselves if nothing is rounded.
func (w *worker) roundedPolygons(polygons orb.MultiPolygon) orb.MultiPolygon {
	if w.grid == nil {
		return polygons
	}
	out := make(orb.MultiPolygon, len(polygons))
	for i, polygon := range polygons {
		out[i] = make(orb.Polygon, len(polygon))
		for j, ring := range polygon {
			out[i][j] = w.rounded(ring)
		}
	}
	return out
}

// raster returns the grid on which the coverage of polygons is computed.
func (w *worker) raster(polygons orb.MultiPolygon, cut bool) noding.Raster {
	reach := 0.0
	if cut {
		reach = 180
	}
	geometry.EachLine(polygons, func(ring []orb.Point) {
		for _, p := range ring {
			reach = max(reach, math.Abs(p[0]), math.Abs(p[1]))
		}
	})
	decimals := grid.MaxDecimals
	if w.grid != nil {
		decimals = w.grid.Decimals()
	}
	return noding.NewRaster(decimals, reach)
}

// covering is the repair or the cut of polygons.
type covering struct {
	polygons orb.MultiPolygon
	heights  []float64
	path     string
	single   bool
	input    coverage.Input
	at       []place // of each ring

	// For polygons that are cut:
	poles   []bool    // whether a ring surrounds a pole
	written []float64 // the area of the rings as they are written
	sphere  []float64 // the same area on a sphere of radius 1
	edges   []int     // number of edges of each ring after the cut
}

// place is the position of a ring in its geometry.
type place struct{ polygon, ring int }

// pointer returns the JSON pointer of a ring.
func (c *covering) pointer(ring int) string {
	at := c.path + "/coordinates"
	if !c.single {
		at += "/" + strconv.Itoa(c.at[ring].polygon)
	}
	return at + "/" + strconv.Itoa(c.at[ring].ring)
}

// fill sets the input of the coverage: the rings, folded at the antimeridian if they are cut. world means that they are
// in degrees.
func (c *covering) fill(world, cut bool) {
	c.input.Polygons = len(c.polygons)
	heights := c.heights
	for i, polygon := range c.polygons {
		for j, ring := range polygon {
			c.at = append(c.at, place{i, j})
			c.input.PolygonOf = append(c.input.PolygonOf, int32(i))
			whole := run{positions: ring}
			if heights != nil {
				whole.heights, heights = heights[:len(ring)], heights[len(ring):]
			}
			if world {
				whole = whole.quartered()
			}
			c.input.Lines = append(c.input.Lines, whole.line(len(c.at)-1, false))
		}
	}
	if cut {
		c.poles, c.written, c.sphere = make([]bool, len(c.polygons)), make([]float64, len(c.polygons)), make([]float64, len(c.polygons))
		c.edges = make([]int, len(c.at))
		c.fold()
	}
}

// slack returns the rounding error that an area may have.
func slack(area float64) float64 { return 1e-9*area + 1e-18 }

// guard compares the area of a result with the areas of its parts.
func (c *covering) guard(result *coverage.Result) error {
	most, sum := 0.0, 0.0
	for _, part := range result.Parts {
		most, sum = max(most, part), sum+part
	}
	if result.Area < most-slack(sum) || result.Area > sum+slack(sum) {
		return &Error{Contradiction, nil}
	}
	return nil
}

// guardParts compares the area of each polygon that was valid on its own with the area of its rings. The finest grid
// moves no position by more than a cell.
func (c *covering) guardParts(ctx context.Context, result *coverage.Result) error {
	if len(c.polygons) == 1 {
		return nil
	}
	for i, polygon := range c.polygons {
		fault, err := validity.Valid(ctx, polygon)
		if err != nil {
			return err
		}
		if want := areaOf(orb.MultiPolygon{polygon}); fault == nil && math.Abs(result.Parts[i]-want) > slack(want)+1e-11*lengthOf(polygon) {
			return &Error{Contradiction, nil}
		}
	}
	return nil
}
