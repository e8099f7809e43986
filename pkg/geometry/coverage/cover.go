package coverage

import (
	"context"
	"errors"
	"math"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry/noding"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// Line is a run of positions of a ring: the whole ring or a part of it. All lines of one polygon together must close.
type Line struct {
	Positions []orb.Point
	Heights   []float64 // one per position, NaN where a position has none; nil if the line has no heights
	Ring      int
	Added     bool // whether the positions were computed, not read from the input; such positions may be dropped
}

// Input is the set of rings whose covered area [Of] computes.
type Input struct {
	Lines []Line

	// PolygonOf maps each ring to its polygon.
	PolygonOf []int32

	// Polygons is the number of polygons.
	Polygons int
}

// Result is the area that the rings cover, as valid polygons.
type Result struct {
	// Polygons are valid. Exteriors run counterclockwise and holes clockwise. Each ring begins at its westernmost
	// position, and polygons are ordered by their first positions.
	Polygons orb.MultiPolygon

	// Heights holds one height per position, NaN where there is none. It is nil if the input has no heights.
	Heights []float64

	// Area is the area of all polygons. Parts holds the area of each input polygon by itself.
	Area  float64
	Parts []float64

	// Collapsed reports, for each ring of the input, whether the grid leaves no edge of it.
	Collapsed []bool
}

// ErrContradiction is returned instead of an invalid result. Only a fault of this package can cause it.
var ErrContradiction = errors.New("the coverage of the rings contradicts itself")

// Of computes the area that the rings of in cover, on the grid of raster. On the finest raster, positions of the input
// keep their values; on any other, all positions lie on the grid. It returns an error of package noding,
// [ErrContradiction], or the error of the context.
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

// segments returns the segments of all lines.
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

// collapsed reports which rings have no edge left. It treats a ring that the antimeridian cuts into parts like any
// other.
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

// places maps the nodes of a network to the positions to write.
type places struct {
	network *noding.Network
	own     []bool      // whether a position of the input lies at the node
	first   []orb.Point // the first such position; nil if nodes are written at their grid position
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

// write returns the positions of polygons. If keep is true, positions of the input keep their values.
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

// heightsOf returns the height of each position, in the order in which write returns them.
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
