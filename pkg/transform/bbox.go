package transform

import (
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/geometry/repair"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
	"github.com/switchback-geo/switchback/pkg/transform/internal/world"
)

// bboxSlack is the tolerance of a bbox, relative to its numbers: writers compute it in their own arithmetic and round
// it.
const bboxSlack = 1e-6

// boxOrder refuses a bbox that no geometry can have (RFC 7946 section 5): its south is above its north, its lowest
// height above its highest, its west east of its east where no antimeridian lies between, or, in degrees, it leaves the
// world.
func (g *gating) boxOrder() error {
	given := g.f.BBox
	if given == nil || g.rules.BBox == BBoxDrop || g.rules.BBox == BBoxCompute {
		return nil
	}
	n := len(given) / 2
	x, y := 0, 1
	if g.source.AxisOrder() == crs.AxisYX {
		x, y = 1, 0
	}
	degrees := g.source.Unit() == crs.Degree
	var message string
	switch {
	case given[y] > given[n+y]:
		message = "the bbox has its south above its north"
	case n == 3 && given[2] > given[5]:
		message = "the bbox has its lowest height above its highest"
	case !degrees && given[x] > given[n+x]:
		message = "the bbox has its west beyond its east"
	case degrees && (given[y] < -90-bboxSlack || given[n+y] > 90+bboxSlack || max(math.Abs(given[x]), math.Abs(given[n+x])) > 180+bboxSlack):
		message = "the bbox lies outside of longitude and latitude"
	default:
		return nil
	}
	return g.refuseBox(message, "leave it out, or set geometry.bbox: compute or drop")
}

func (g *gating) refuseBox(message, fix string) error {
	e := encoder{}
	e.numbers(g.f.BBox...)
	return g.f.refuse(classify.CodeBBoxMismatch, RuleBBox, "/bbox", shorten.Text(e.out), message, fix)
}

// bbox compares the feature's bbox with its geometry (RFC 7946 section 5).
func (g *gating) bbox() error {
	given := g.f.BBox
	if g.rules.BBox != BBoxCheck || given == nil {
		return nil
	}
	// A box whose west is greater than its east crosses the antimeridian, and so do the parts of a geometry that its
	// producer cut there. Only the producer can know (RFC 7946 section 5.2 has an example).
	across := g.cut || repair.Crosses(g.f.Geometry.Shape) || given[0] > given[len(given)/2]
	if computed := boxOf(g.geometry, across, len(given) == 6); computed == nil || near(given, computed) {
		return nil
	}
	return g.refuseBox("the bbox does not match the geometry", "leave it out, or set geometry.bbox: compute")
}

// near compares two boxes within bboxSlack.
func near(given, computed []float64) bool {
	for i := range given {
		if i >= len(computed) || math.Abs(given[i]-computed[i]) > bboxSlack*max(1, math.Abs(computed[i])) {
			return false
		}
	}
	return true
}

// boxOf returns the bbox of a geometry, or nil if it has no position. If the geometry crosses the antimeridian, the west
// is greater than the east (section 5.2). withHeights requests six numbers; it is ignored if no position has a height.
func boxOf(g Geometry, crosses, withHeights bool) []float64 {
	low, high, found := geometry.Bounds(g.Shape)
	if !found {
		return nil
	}
	if crosses {
		low[0], high[0] = world.Longitudes(g.Shape)
	}
	bottom, top := math.Inf(1), math.Inf(-1)
	for _, z := range g.Z {
		if !math.IsNaN(z) {
			bottom, top = min(bottom, z), max(top, z)
		}
	}
	if !withHeights || bottom > top {
		return []float64{low[0], low[1], high[0], high[1]}
	}
	return []float64{low[0], low[1], bottom, high[0], high[1], top}
}

// mapBBox sets the bbox of the target feature, after its geometry.
func (t *Transformer) mapBBox(f, out *Feature, changed, crosses bool) {
	switch t.config.Geometry.BBox {
	case BBoxDrop:
		out.BBox = nil
	case BBoxCompute:
		degrees := t.systems.target.Unit() == crs.Degree
		out.BBox = boxOf(out.Geometry, degrees && (crosses || world.OnBothSides(out.Geometry.Shape)), true)
	default:
		if changed && f.BBox != nil {
			out.BBox = boxOf(out.Geometry, crosses, len(f.BBox) == 6)
		}
	}
}

// boxAround returns the corners of a box around transformed positions. In degrees its west is greater than its east if it
// lies across the antimeridian (RFC 7946 section 5.2). The position with the index middle lies on a side of the box.
func (t *Transformer) boxAround(sides orb.LineString, middle int) (low, high orb.Point) {
	if t.systems.target.Unit() != crs.Degree {
		low, high, _ = geometry.Bounds(sides)
		return low, high
	}
	near := sides[middle][0]
	beside := geometry.Moved(sides, func(p orb.Point) orb.Point { return orb.Point{near + world.Wrapped(p[0]-near), p[1]} })
	low, high, _ = geometry.Bounds(beside)
	if high[0]-low[0] >= 180 { // around a pole, or half of the world
		low, high, _ = geometry.Bounds(sides)
		return world.Inside(low), world.Inside(high)
	}
	slack := t.meridianSlack()
	for _, p := range []*orb.Point{&low, &high} {
		if math.Abs(p[0]) > 180+slack {
			p[0] = world.Wrapped(p[0])
		}
		*p = world.Inside(*p)
	}
	return low, high
}

// boxSteps is the number of steps in which each side of a box is transformed: a side that is straight in one system is
// curved in another.
const boxSteps = 20

// mapLoneBBox sets the bbox of a target feature without a geometry. It transforms the box, which is the only
// information about the feature's place.
func (t *Transformer) mapLoneBBox(f, out *Feature, source *crs.CRS) error {
	if policy := t.config.Geometry.BBox; policy == BBoxDrop || policy == BBoxCompute {
		out.BBox = nil
		return nil
	}
	transform, err := t.systems.transform(source)
	if err != nil || transform == nil && source.AxisOrder() == crs.AxisXY {
		return err
	}
	n := len(f.BBox) / 2
	low, high := orb.Point{f.BBox[0], f.BBox[1]}, orb.Point{f.BBox[n], f.BBox[n+1]}
	if source.AxisOrder() == crs.AxisYX {
		low, high = orb.Point{low[1], low[0]}, orb.Point{high[1], high[0]}
	}
	if transform != nil {
		sides := make(orb.LineString, 0, 4*(boxSteps+1))
		for i := range boxSteps + 1 {
			x, y := low[0]+(high[0]-low[0])*float64(i)/boxSteps, low[1]+(high[1]-low[1])*float64(i)/boxSteps
			sides = append(sides, orb.Point{x, low[1]}, orb.Point{x, high[1]}, orb.Point{low[0], y}, orb.Point{high[0], y})
		}
		moved, err := t.toTarget(f, source, transform, Geometry{Shape: sides})
		if e, ok := err.(*Error); ok { //nolint:errorlint // made there, and not wrapped
			e.Path = "/bbox"
		}
		if err != nil {
			return err
		}
		low, high = t.boxAround(moved.Shape.(orb.LineString), (boxSteps+1)*2)
	}
	out.BBox = slices.Clone(f.BBox)
	copy(out.BBox, low[:])
	copy(out.BBox[n:], high[:])
	if t.config.Geometry.RoundDecimals != nil {
		out.BBox = (&rounding{grid: t.grid}).bbox(out.BBox)
	}
	return nil
}
