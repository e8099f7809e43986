package noding

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// Edge is a straight line between two nodes, given by their numbers.
type Edge struct{ West, East int32 }

// Network is a set of edges that meet at nodes only.
//
// An edge e has two sides, identified by half-edges: 2e runs from west to east and has the side north of the edge to its
// left. 2e+1 runs back and has the other side to its left.
type Network struct {
	// Raster is the grid of the nodes.
	Raster Raster

	// Nodes are the cells of the nodes in units of the grid, sorted from west to east, then from south to north. A node
	// can be without edges.
	Nodes []orb.Point

	// Edges are the edges that at least one ring contains an odd number of times.
	Edges []Edge

	// Below is, for each node without an edge to the west, the edge right below it. It is -1 if there is no such edge,
	// and for every other node.
	Below []int32

	rings   []int32 // of all edges; those of edge e begin at ringsAt[e]
	ringsAt []int32
	out     []int32 // the half-edges that leave each node, counterclockwise from the south
	outAt   []int32
	place   []int32 // of each half-edge in out
	heights *heights
}

// ErrUnstable is returned if the edges could not be separated. Only a fault of this package can cause it.
var ErrUnstable = errors.New("the edges could not be separated on the grid")

// Build returns the network of segments. The segments of each ring must close. Build sorts and changes the slice.
// withHeights tells whether any segment has heights. It returns [ErrCrossings], [ErrUnstable], or the error of the
// context.
func Build(ctx context.Context, raster Raster, segments []Segment, withHeights bool, limits Limits) (*Network, error) {
	ends := heightsOfEnds(segments, withHeights)
	s := newSnapper(ctx, raster, segments, limits)
	if err := s.heat(); err != nil {
		return nil, err
	}
	s.takeHeights(ends)
	if err := s.snap(); err != nil {
		return nil, err
	}
	n := &Network{Raster: raster, Nodes: s.nodes, heights: s.heights}
	n.take(s.pieces)
	return n, n.order(s.budget)
}

// end is the height at an end of a segment.
type end struct {
	at orb.Point
	z  float64
}

// heightsOfEnds returns the heights of the ends in the order of the input.
func heightsOfEnds(segments []Segment, withHeights bool) []end {
	if !withHeights {
		return nil
	}
	ends := make([]end, 0, 2*len(segments))
	for i := range segments {
		ends = append(ends, end{segments[i].A, segments[i].ZA}, end{segments[i].B, segments[i].ZB})
	}
	return ends
}

// takeHeights sets the height of each node to that of the first end there.
func (s *snapper) takeHeights(ends []end) {
	if ends == nil {
		return
	}
	h := &heights{end: make([]float64, len(s.nodes)), sum: make([]float64, len(s.nodes)), count: make([]int32, len(s.nodes))}
	for i := range h.end {
		h.end[i] = math.NaN()
	}
	for _, e := range ends {
		if n, found := s.node(e.at); found && math.IsNaN(h.end[n]) {
			h.end[n] = e.z
		}
	}
	s.heights = h
}

// take makes edges of sorted pieces.
func (n *Network) take(pieces []piece) {
	n.rings = make([]int32, 0, len(pieces))
	for _, p := range pieces {
		if last := len(n.Edges) - 1; last < 0 || n.Edges[last] != (Edge{p.west, p.east}) {
			n.Edges = append(n.Edges, Edge{p.west, p.east})
			n.ringsAt = append(n.ringsAt, int32(len(n.rings)))
		}
		n.rings = append(n.rings, p.ring)
	}
	n.ringsAt = append(n.ringsAt, int32(len(n.rings)))
}

// order sweeps over the edges. It records the order in which they leave each node, and the edge below each node.
func (n *Network) order(budget *budget) error {
	n.out = make([]int32, 0, 2*len(n.Edges))
	n.outAt = make([]int32, len(n.Nodes)+1)
	n.place = make([]int32, 2*len(n.Edges))
	n.Below = make([]int32, len(n.Nodes))
	for i := range n.Below {
		n.Below[i] = none
	}
	stable := true
	sweep := sweeper{edges: make([]edge, len(n.Edges)), budget: budget}
	for i, e := range n.Edges {
		sweep.edges[i] = newEdge(n.Nodes[e.West], n.Nodes[e.East])
	}
	sweep.crossed = func(*crossing) { stable = false }
	sweep.passed = func(a *around) {
		for _, e := range a.rising {
			stable = stable && sweep.edges[e].begin == a.place
		}
		n.leave(a)
	}
	if err := sweep.run(); err != nil {
		return err
	}
	if !stable || len(n.out) != 2*len(n.Edges) {
		return ErrUnstable
	}
	for i := 1; i < len(n.outAt); i++ {
		n.outAt[i] = max(n.outAt[i], n.outAt[i-1])
	}
	return nil
}

// leave records the half-edges that leave the node at a place of the sweep.
func (n *Network) leave(a *around) {
	var node int32
	if len(a.ending) > 0 {
		node = n.Edges[a.ending[0]].East
	} else {
		node = n.Edges[a.rising[0]].West
		n.Below[node] = a.below
	}
	add := func(half int32) {
		n.place[half] = int32(len(n.out))
		n.out = append(n.out, half)
	}
	for _, e := range a.rising {
		add(2 * e)
	}
	for _, e := range slices.Backward(a.ending) {
		add(2*e + 1)
	}
	n.outAt[node+1] = int32(len(n.out))
}

// Rings returns the rings that contain an edge an odd number of times, in ascending order.
func (n *Network) Rings(edge int32) []int32 { return n.rings[n.ringsAt[edge]:n.ringsAt[edge+1]] }

// Origin returns the node that a half-edge leaves.
func (n *Network) Origin(half int32) int32 {
	if half&1 == 0 {
		return n.Edges[half>>1].West
	}
	return n.Edges[half>>1].East
}

// Out returns the half-edges that leave a node, counterclockwise from the south.
func (n *Network) Out(node int32) []int32 { return n.out[n.outAt[node]:n.outAt[node+1]] }

// Clockwise returns the next half-edge clockwise around the node that half leaves.
func (n *Network) Clockwise(half int32) int32 {
	node := n.Origin(half)
	first, at := n.outAt[node], n.place[half]
	if at == first {
		at = n.outAt[node+1]
	}
	return n.out[at-1]
}

// Next returns the half-edge that follows half around the face to its left.
func (n *Network) Next(half int32) int32 { return n.Clockwise(half ^ 1) }

// NodeOf returns the node at a place of the finer grid where a segment ends.
func (n *Network) NodeOf(place orb.Point) (int32, bool) {
	s := snapper{raster: n.Raster, nodes: n.Nodes}
	return s.node(place)
}

// Height returns the height of a node: that of the first end there, otherwise the mean of the segments through it. It is
// NaN if there is none.
func (n *Network) Height(node int32) float64 {
	if n.heights == nil {
		return math.NaN()
	}
	return n.heights.at(node)
}
