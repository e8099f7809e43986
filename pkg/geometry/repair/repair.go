package repair

import (
	"context"
	"slices"
	"strconv"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/geometry/grid"
	"github.com/switchback-geo/switchback/pkg/geometry/noding"
)

// Limits bound the work and the result. All must be positive.
type Limits struct {
	Crossings int // places where edges meet elsewhere than at their ends
	Positions int // of the result
}

// Result is a valid geometry and its cost.
type Result struct {
	Shape   orb.Geometry
	Heights []float64 // one for each position, NaN for none; nil if there were none

	// Before is the area of the rings of the polygons that were changed, exteriors less holes. After is the area of
	// their replacements.
	Before, After float64

	// Sphere has the same two areas on a sphere of radius 1, for a shape in degrees.
	Sphere struct{ Before, After float64 }

	// Collapsed are the JSON pointers, below the geometry, of the rings and lines of which nothing is left.
	Collapsed []string

	// Changed reports whether more than the number of decimals was changed.
	Changed bool

	// Overlap reports whether polygons of one geometry overlapped, after a [Cut].
	Overlap bool

	// Unsure is the JSON pointer of a polygon around a pole that may not have been valid, after a [Cut]; "" if there is
	// none.
	Unsure string
}

// Repair returns a valid geometry for one that is not. The error is an [*Error], or that of the context.
func Repair(ctx context.Context, shape orb.Geometry, heights []float64, limits Limits) (*Result, error) {
	w := &worker{ctx: ctx, limits: limits, heights: heights}
	return w.run(shape)
}

// Snap rounds a geometry to a number of decimals, half away from zero. If the result is invalid, it routes the edges
// through the grid so that it is valid. It does not round heights. The error is an [*Error], or that of the context.
func Snap(ctx context.Context, shape orb.Geometry, heights []float64, decimals int, limits Limits) (*Result, error) {
	g := grid.Of(decimals)
	w := &worker{ctx: ctx, limits: limits, heights: heights, grid: &g}
	return w.run(shape)
}

// worker makes one geometry valid.
type worker struct {
	ctx     context.Context
	limits  Limits
	grid    *grid.Grid // nil if nothing is rounded
	cut     bool       // at the antimeridian
	heights []float64  // of the positions still to come
	out     Result
}

// run makes a shape valid.
func (w *worker) run(shape orb.Geometry) (*Result, error) {
	if w.heights != nil {
		w.out.Heights = make([]float64, 0, len(w.heights))
	}
	var err error
	w.out.Shape, err = w.shape(shape, "")
	switch {
	case err != nil:
		return nil, explained(err)
	case w.out.Shape == nil:
		return nil, &Error{NothingLeft, nil}
	}
	return &w.out, nil
}

// shape makes a shape valid. path is its JSON pointer. It returns nil if nothing is left.
func (w *worker) shape(shape orb.Geometry, path string) (orb.Geometry, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, context.Cause(w.ctx)
	}
	switch shape := shape.(type) {
	case orb.Point:
		if geometry.IsEmptyPoint(shape) {
			return shape, nil // it has no position, so none of the heights is its own
		}
		return w.points(orb.MultiPoint{shape})[0], nil
	case orb.MultiPoint:
		return w.points(shape), nil
	case orb.LineString:
		return w.lines(orb.MultiLineString{shape}, path, true), nil
	case orb.MultiLineString:
		return w.lines(shape, path, false), nil
	case orb.Polygon:
		return w.polygons(orb.MultiPolygon{shape}, path, true)
	case orb.MultiPolygon:
		return w.polygons(shape, path, false)
	case orb.Collection:
		return w.collection(shape, path)
	}
	return shape, nil
}

// collection makes each member valid on its own.
func (w *worker) collection(members orb.Collection, path string) (orb.Geometry, error) {
	out := make(orb.Collection, 0, len(members))
	for i, member := range members {
		valid, err := w.shape(member, path+"/geometries/"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		if valid != nil {
			out = append(out, valid)
		}
	}
	if len(out) == 0 && len(members) > 0 {
		return nil, nil
	}
	return out, nil
}

// take returns the heights of the next n positions.
func (w *worker) take(n int) []float64 {
	if w.heights == nil {
		return nil
	}
	taken := w.heights[:n:n]
	w.heights = w.heights[n:]
	return taken
}

// give appends the heights of positions of the result.
func (w *worker) give(heights []float64) { w.out.Heights = append(w.out.Heights, heights...) }

func (w *worker) points(points orb.MultiPoint) orb.MultiPoint {
	w.give(w.take(len(points)))
	return w.rounded(points)
}

// rounded returns a rounded copy of positions, or the positions themselves if nothing is rounded.
func (w *worker) rounded(points []orb.Point) []orb.Point {
	if w.grid == nil {
		return points
	}
	out := make([]orb.Point, len(points))
	for i, p := range points {
		out[i] = orb.Point{w.grid.Round(p[0]), w.grid.Round(p[1])}
	}
	return out
}

// lines rounds and cuts lines, and drops those of which nothing is left. single tells that one line should stay one if
// possible.
func (w *worker) lines(lines orb.MultiLineString, path string, single bool) orb.Geometry {
	out := make(orb.MultiLineString, 0, len(lines))
	for i, line := range lines {
		whole := run{positions: line, heights: w.take(len(line))}
		parts := []run{whole}
		if w.cut && crossesLine(line) {
			if parts = cutLine(whole); len(parts) > 0 {
				w.out.Changed = true
			} else {
				parts = []run{whole}
			}
		}
		for _, part := range parts {
			if rounded := w.rounded(part.positions); len(line) == 0 || hasTwo(rounded) {
				out = append(out, rounded)
				w.give(part.heights)
				continue
			}
			w.out.Changed = true
			at := path + "/coordinates"
			if !single {
				at += "/" + strconv.Itoa(i)
			}
			w.out.Collapsed = append(w.out.Collapsed, at)
		}
	}
	switch {
	case len(out) == 0 && len(lines) > 0:
		return nil
	case single && len(out) == 1:
		return out[0]
	}
	return out
}

// hasTwo reports whether there are two distinct positions.
func hasTwo(positions []orb.Point) bool {
	return slices.ContainsFunc(positions, func(p orb.Point) bool { return p != positions[0] })
}

func (l Limits) noding() noding.Limits { return noding.Limits{Crossings: l.Crossings} }
