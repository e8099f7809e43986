package noding

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry/sweep"
)

// snapper leads segments through the centres of the hot cells.
type snapper struct {
	raster   Raster
	segments []Segment
	budget   *budget
	nodes    []orb.Point // centres of the hot cells, in the order of the sweep
	pixels   *pixels
	pieces   []piece
	heights  *heights // nil if no segment has heights
	found    []int32  // scratch space of searches
	chain    []int32  // scratch space of settle
}

// piece is the part of a segment between two nodes, from west to east.
type piece struct{ west, east, ring int32 }

// heights are the heights of the nodes: those of ends, and the sums over the segments through each other node.
type heights struct {
	end, sum []float64 // NaN for none
	count    []int32
}

func newSnapper(ctx context.Context, raster Raster, segments []Segment, limits Limits) *snapper {
	budget := newBudget(ctx, limits, len(segments))
	return &snapper{raster: raster, segments: straightened(segments), budget: budget}
}

// same returns the end of the run of equal segments that begins at i.
func (s *snapper) same(i int) int {
	j := i + 1
	for j < len(s.segments) && s.segments[j].A == s.segments[i].A && s.segments[j].B == s.segments[i].B {
		j++
	}
	return j
}

// heat finds the hot cells: those of ends and of crossings.
func (s *snapper) heat() error {
	pass := sweeper{budget: s.budget, crossed: func(c *crossing) { s.nodes = append(s.nodes, s.raster.pixelOf(c)) }}
	for i := 0; i < len(s.segments); i = s.same(i) {
		a, b := s.segments[i].A, s.segments[i].B
		pass.edges = append(pass.edges, newEdge(a, b))
		s.nodes = append(s.nodes, s.raster.pixel(a), s.raster.pixel(b))
	}
	if err := pass.run(); err != nil {
		return err
	}
	slices.SortFunc(s.nodes, sweep.Compare)
	s.nodes = slices.Clip(slices.Compact(s.nodes))
	s.pixels = newPixels(s.nodes)
	return nil
}

// node returns the number of the hot cell that contains a place of the finer grid.
func (s *snapper) node(place orb.Point) (int32, bool) {
	i, found := slices.BinarySearchFunc(s.nodes, s.raster.pixel(place), sweep.Compare)
	return int32(i), found
}

// snap cuts segments into pieces between hot cells until no piece passes another hot cell.
func (s *snapper) snap() error {
	for i := 0; i < len(s.segments); {
		end := s.same(i)
		a, b := s.segments[i].A, s.segments[i].B
		var err error
		if s.found, err = s.through(s.found[:0], 0, a, b, s.raster.step); err != nil {
			return err
		}
		chain := s.found
		s.note(&s.segments[i], chain)
		for k := 1; k < len(chain); k++ {
			for _, same := range s.segments[i:end] {
				s.pieces = append(s.pieces, pieceOf(chain[k-1], chain[k], same.Ring))
			}
		}
		i = end
	}
	s.segments = nil
	s.cancel()
	return s.settle()
}

func pieceOf(a, b, ring int32) piece { return piece{min(a, b), max(a, b), ring} }

// through appends to found the nodes of the cells that a line passes. The first base entries of found belong to others.
func (s *snapper) through(found []int32, base int, a, b orb.Point, step float64) ([]int32, error) {
	if err := s.budget.turn(); err != nil {
		return found, err
	}
	found, err := s.pixels.passed(found, a, b, step, s.budget)
	if err != nil {
		return found, err
	}
	if s.budget.meetings -= max(0, len(found)-base-2); s.budget.meetings < 0 {
		return found, ErrCrossings
	}
	return found, nil
}

// settle replaces every piece that passes another hot cell by the path through that cell.
func (s *snapper) settle() error {
	pieces := s.pieces
	changed := false
	s.found = s.found[:0]
	var settled []piece
	for i := 0; i < len(pieces); {
		end := i + 1
		for end < len(pieces) && pieces[end].west == pieces[i].west && pieces[end].east == pieces[i].east {
			end++
		}
		s.chain = append(s.chain[:0], pieces[i].west)
		if err := s.reroute(pieces[i].west, pieces[i].east); err != nil {
			return err
		}
		changed = changed || len(s.chain) > 2
		for k := 1; k < len(s.chain); k++ {
			for _, same := range pieces[i:end] {
				settled = append(settled, pieceOf(s.chain[k-1], s.chain[k], same.ring))
			}
		}
		i = end
	}
	if s.pieces = settled; changed {
		s.cancel()
	}
	return nil
}

// reroute appends the nodes of the path from a to b, without a: the nodes that the line passes, and those that the lines
// between them pass. It ends because each line lies in a smaller box than the one before.
func (s *snapper) reroute(a, b int32) error {
	// Nodes are numbered in the order of the sweep, which is also the order of a search from west to east.
	base := len(s.found)
	defer func() { s.found = s.found[:base] }()
	var err error
	if s.found, err = s.through(s.found, base, s.nodes[min(a, b)], s.nodes[max(a, b)], 1); err != nil {
		return err
	}
	way := s.found[base:]
	if len(way) <= 2 {
		s.chain = append(s.chain, b)
		return nil
	}
	if a > b {
		slices.Reverse(way)
	}
	for k := 1; k < len(way); k++ {
		if err := s.reroute(way[k-1], way[k]); err != nil {
			return err
		}
	}
	return nil
}

// cancel sorts the pieces and removes those that a ring contains an even number of times. Such a piece is no border of
// the ring.
func (s *snapper) cancel() {
	slices.SortFunc(s.pieces, func(p, q piece) int {
		return cmp.Or(cmp.Compare(p.west, q.west), cmp.Compare(p.east, q.east), cmp.Compare(p.ring, q.ring))
	})
	kept := s.pieces[:0]
	for _, p := range s.pieces {
		if last := len(kept) - 1; last >= 0 && kept[last] == p {
			kept = kept[:last]
		} else {
			kept = append(kept, p)
		}
	}
	s.pieces = kept
}

// note records the heights of a segment at the nodes of its path.
func (s *snapper) note(segment *Segment, chain []int32) {
	h := s.heights
	if h == nil || math.IsNaN(segment.ZA) || math.IsNaN(segment.ZB) {
		return
	}
	for _, n := range chain {
		at := s.nodes[n]
		h.sum[n] += segment.along(orb.Point{at[0] * s.raster.step, at[1] * s.raster.step})
		h.count[n]++
	}
}

// at returns the height of a node: that of the first end there, otherwise the mean of the segments through it.
func (h *heights) at(n int32) float64 {
	switch {
	case !math.IsNaN(h.end[n]):
		return h.end[n]
	case h.count[n] == 0:
		return math.NaN()
	}
	return h.sum[n] / float64(h.count[n])
}
