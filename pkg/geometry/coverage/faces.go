package coverage

import (
	"context"
	"fmt"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry/noding"
)

// faces are the pieces that a network cuts the plane into. A face is named by the
// root of a cycle of half-edges around it; the one around everything is the last.
type faces struct {
	*noding.Network
	cycle   []int32   // of each half-edge
	area    []float64 // of each face, in cells; of the outermost one it means nothing
	parents []int32   // of a union-find over cycles
	covered []bool    // of each face: whether a polygon covers it
	parts   []float64 // of each polygon: the area of the faces that it covers
}

// newFaces finds the faces of a network, and which of them polygons cover. A ring
// belongs to the polygon polygonOf[ring].
func newFaces(ctx context.Context, network *noding.Network, polygonOf []int32, polygons int) (*faces, error) {
	f := &faces{Network: network, cycle: make([]int32, 2*len(network.Edges))}
	f.findCycles()
	f.join()
	f.parts = make([]float64, polygons)
	return f, f.cover(ctx, polygonOf)
}

// outermost is the face around everything.
func (f *faces) outermost() int32 { return f.root(int32(len(f.parents) - 1)) }

// left is the face to the left of a half-edge.
func (f *faces) left(half int32) int32 { return f.root(f.cycle[half]) }

// findCycles goes around each face from every half-edge that was not passed yet.
func (f *faces) findCycles() {
	for i := range f.cycle {
		f.cycle[i] = -1
	}
	for first := range f.cycle {
		if f.cycle[first] >= 0 {
			continue
		}
		number, area := int32(len(f.area)), 0.0
		origin := f.Nodes[f.Origin(int32(first))]
		for half := int32(first); ; {
			f.cycle[half] = number
			next := f.Next(half)
			area += cross(origin, f.Nodes[f.Origin(half)], f.Nodes[f.Origin(next)])
			if half = next; half == int32(first) {
				break
			}
		}
		f.area = append(f.area, area/2)
	}
	f.area = append(f.area, 0)
	f.parents = make([]int32, len(f.area))
	for i := range f.parents {
		f.parents[i] = int32(i)
	}
}

// cross is twice the area of a triangle, positive for one that runs
// counterclockwise.
func cross(a, b, c orb.Point) float64 {
	return (b[0]-a[0])*(c[1]-a[1]) - (b[1]-a[1])*(c[0]-a[0])
}

// join makes one face of the cycles around it: where a part of the network begins
// in the west, the face to its west is the one north of the edge below.
func (f *faces) join() {
	outermost := int32(len(f.parents) - 1)
	for node := range f.Nodes {
		out := f.Out(int32(node))
		if len(out) == 0 || out[len(out)-1]&1 == 1 { // there is an edge to the west
			continue
		}
		around := outermost
		if below := f.Below[node]; below >= 0 {
			around = f.cycle[2*below]
		}
		f.unite(f.cycle[out[len(out)-1]], around)
	}
}

func (f *faces) root(i int32) int32 {
	for f.parents[i] != i {
		f.parents[i] = f.parents[f.parents[i]]
		i = f.parents[i]
	}
	return i
}

// unite makes one face of two.
func (f *faces) unite(a, b int32) {
	if a, b = f.root(a), f.root(b); a != b {
		f.parents[a] = b
		f.area[b] += f.area[a]
	}
}

// halves lists the half-edges around each face: those of face i are in
// list[at[i]:at[i+1]].
func (f *faces) halves() (list, at []int32) {
	at = make([]int32, len(f.parents)+1)
	for half := range f.cycle {
		at[f.left(int32(half))+1]++
	}
	for i := 1; i < len(at); i++ {
		at[i] += at[i-1]
	}
	list = make([]int32, len(f.cycle))
	next := append([]int32(nil), at...)
	for half := range f.cycle {
		face := f.left(int32(half))
		list[next[face]] = int32(half)
		next[face]++
	}
	return list, at
}

// visit is a face on the way through all of them.
type visit struct {
	face, entered int32 // by which half-edge; -1 for the first
	next          int32 // what to look at next, in the list of halves
}

// walk is the way from face to face, and what covers the one at its end.
type walk struct {
	*faces
	polygonOf []int32
	inside    []bool    // of each polygon: whether it covers the face
	depth     int       // how many do
	passed    float64   // area of the faces that were visited so far
	since     []float64 // of each polygon that covers the face: what had been passed before
}

// cover walks from the outermost face through all of them, over edges that it
// passes there and back. An edge changes what the polygons cover that have it.
func (f *faces) cover(ctx context.Context, polygonOf []int32) error {
	list, at := f.halves()
	f.covered = make([]bool, len(f.parents))
	seen := make([]bool, len(f.parents))
	w := walk{faces: f, polygonOf: polygonOf, inside: make([]bool, len(f.parts)), since: make([]float64, len(f.parts))}
	first := f.outermost()
	seen[first] = true
	way := []visit{{face: first, entered: -1, next: at[first]}}
	for turn := 0; len(way) > 0; turn++ {
		if turn%4096 == 4095 && ctx.Err() != nil {
			return fmt.Errorf("find what polygons cover: %w", context.Cause(ctx))
		}
		v := &way[len(way)-1]
		if v.next == at[v.face+1] {
			if v.entered >= 0 {
				w.pass(v.entered)
			}
			way = way[:len(way)-1]
			continue
		}
		half := list[v.next] ^ 1
		v.next++
		face := f.left(half)
		if seen[face] {
			continue
		}
		seen[face] = true
		w.pass(half)
		f.covered[face] = w.depth > 0
		w.passed += f.area[face]
		way = append(way, visit{face, half, at[face]})
	}
	return nil
}

// pass goes over an edge.
func (w *walk) pass(half int32) {
	rings := w.Rings(half >> 1)
	for i := 0; i < len(rings); {
		polygon, odd := w.polygonOf[rings[i]], false
		for ; i < len(rings) && w.polygonOf[rings[i]] == polygon; i++ {
			odd = !odd
		}
		if !odd {
			continue
		}
		if w.inside[polygon] = !w.inside[polygon]; w.inside[polygon] {
			w.depth++
			w.since[polygon] = w.passed
		} else {
			w.depth--
			w.parts[polygon] += w.passed - w.since[polygon]
		}
	}
}
