package coverage

import (
	"context"
	"errors"
	"math"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry/noding"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// Line is a run of positions of a ring: all of it, or a part. Of each polygon all
// lines together must close.
type Line struct {
	Positions []orb.Point
	Heights   []float64 // one for each position, NaN for none; nil when there are none
	Ring      int
	Added     bool // whether the positions are no ones of the input, so that none needs to be kept
}

// Input is what covers.
type Input struct {
	Lines []Line

	// PolygonOf is the polygon of each ring.
	PolygonOf []int32

	// Polygons is the number of polygons.
	Polygons int
}

// Result is what is covered.
type Result struct {
	// Polygons are valid. Exteriors run counterclockwise and holes clockwise; rings
	// begin in the west, and polygons are in the order of their beginnings.
	Polygons orb.MultiPolygon

	// Heights has one for each position, NaN for none; nil when the input had none.
	Heights []float64

	// Area is the area of the polygons, Parts that of each polygon of the input by
	// itself.
	Area  float64
	Parts []float64

	// Collapsed says of each ring of the input that nothing is left of it on the
	// grid.
	Collapsed []bool
}

// ErrContradiction says that a result is not valid, which only a fault of this
// package can bring about. Such a result is not returned.
var ErrContradiction = errors.New("what covers the rings contradicts itself")

// Of finds what is covered, on a raster. Where the raster is the finest one,
// positions of the input stay as they are; else all are on its grid. The error is
// one of package noding, [ErrContradiction], or that of the context.
func Of(ctx context.Context, in Input, raster noding.Raster, limits noding.Limits) (*Result, error) {
	withHeights := false
	for _, line := range in.Lines {
		withHeights = withHeights || line.Heights != nil
	}
	network, err := noding.Build(ctx, raster, segments(in, raster), withHeights, limits)
	if err != nil {
		return nil, err
	}
	f, err := newFaces(ctx, network, in.PolygonOf, in.Polygons)
	if err != nil {
		return nil, err
	}
	places := placesOf(in, network)
	polygons, fit := f.polygons(places.own)
	if !fit {
		return nil, ErrContradiction
	}
	out := &Result{Parts: make([]float64, in.Polygons), Collapsed: collapsed(in, network)}
	for i, cells := range f.parts {
		out.Parts[i] = raster.Area(cells)
	}
	for _, p := range polygons {
		for _, r := range p {
			out.Area += raster.Area(areaOf(network, r))
		}
	}
	if withHeights {
		out.Heights = heightsOf(network, polygons)
	}
	for _, keep := range [...]bool{true, false} {
		out.Polygons = places.write(polygons, keep)
		fault, err := validity.Valid(ctx, out.Polygons)
		if fault == nil || err != nil {
			return out, err
		}
	}
	return nil, ErrContradiction
}

// segments are those of all lines.
func segments(in Input, raster noding.Raster) []noding.Segment {
	n := 0
	for _, line := range in.Lines {
		n += max(0, len(line.Positions)-1)
	}
	out := make([]noding.Segment, 0, n)
	for _, line := range in.Lines {
		for i := 1; i < len(line.Positions); i++ {
			s := noding.Segment{
				A: raster.Place(line.Positions[i-1]), B: raster.Place(line.Positions[i]),
				ZA: math.NaN(), ZB: math.NaN(), Ring: int32(line.Ring),
			}
			if line.Heights != nil {
				s.ZA, s.ZB = line.Heights[i-1], line.Heights[i]
			}
			out = append(out, s)
		}
	}
	return out
}

// collapsed finds the rings that no edge is left of. A ring of parts that an
// antimeridian cuts is judged like any other.
func collapsed(in Input, network *noding.Network) []bool {
	out := make([]bool, len(in.PolygonOf))
	for i := range out {
		out[i] = true
	}
	for e := range network.Edges {
		for _, ring := range network.Rings(int32(e)) {
			out[ring] = false
		}
	}
	return out
}

// places says how nodes are written.
type places struct {
	network *noding.Network
	own     []bool      // whether a position of the input lies there
	first   []orb.Point // the first such position; nil where nodes are written as on the grid
}

func placesOf(in Input, network *noding.Network) *places {
	p := &places{network: network, own: make([]bool, len(network.Nodes))}
	if network.Raster.IsFinest() {
		p.first = make([]orb.Point, len(network.Nodes))
	}
	for _, line := range in.Lines {
		if line.Added {
			continue
		}
		for _, position := range line.Positions {
			node, found := network.NodeOf(network.Raster.Place(position))
			if !found || p.own[node] {
				continue
			}
			p.own[node] = true
			if p.first != nil {
				p.first[node] = position
			}
		}
	}
	return p
}

// write returns the positions of polygons; keep says whether positions of the input
// stay as they are.
func (p *places) write(polygons []polygon, keep bool) orb.MultiPolygon {
	out := make(orb.MultiPolygon, len(polygons))
	for i, rings := range polygons {
		out[i] = make(orb.Polygon, len(rings))
		for j, nodes := range rings {
			positions := make(orb.Ring, 0, len(nodes)+1)
			for _, node := range nodes {
				if keep && p.first != nil && p.own[node] {
					positions = append(positions, p.first[node])
				} else {
					positions = append(positions, p.network.Raster.Position(p.network.Nodes[node]))
				}
			}
			out[i][j] = append(positions, positions[0])
		}
	}
	return out
}

// heightsOf returns the height of each position.
func heightsOf(network *noding.Network, polygons []polygon) []float64 {
	var out []float64
	for _, rings := range polygons {
		for _, nodes := range rings {
			for _, node := range nodes {
				out = append(out, network.Height(node))
			}
			out = append(out, network.Height(nodes[0]))
		}
	}
	return out
}
