package coverage

import (
	"context"
	"fmt"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry/noding"
)

// faces are the connected areas into which a network divides the plane. A face is identified by the root of one of the
// cycles of half-edges around it. The unbounded face has the last number.
type faces struct {
	*noding.Network
	cycle   []int32   // per half-edge
	area    []float64 // per face, in cells; meaningless for the unbounded face
	parents []int32   // union-find over cycles
	covered []bool    // per face: whether a polygon covers it
	parts   []float64 // per polygon: the area of the faces that it covers
}

// newFaces computes the faces of a network and marks those that a polygon covers. The polygon of a ring is
// polygonOf[ring].
func newFaces(ctx context.Context, network *noding.Network, polygonOf []int32, polygons int) (*faces, error) {
	f := &faces{Network: network, cycle: make([]int32, 2*len(network.Edges))}
	f.findCycles()
	f.join()
	f.parts = make([]float64, polygons)
	return f, f.cover(ctx, polygonOf)
}

// outermost returns the unbounded face.
func (f *faces) outermost() int32 { return f.root(int32(len(f.parents) - 1)) }

// left returns the face to the left of a half-edge.
func (f *faces) left(half int32) int32 { return f.root(f.cycle[half]) }

// findCycles follows the cycle of each half-edge that has none yet.
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

// cross returns twice the signed area of a triangle. It is positive if the triangle runs counterclockwise.
func cross(a, b, c orb.Point) float64 {
	return (b[0]-a[0])*(c[1]-a[1]) - (b[1]-a[1])*(c[0]-a[0])
}

// join unites the cycles that surround the same face. At the westernmost node of a connected part, the face to its west
// is the face north of the edge right below.
func (f *faces) join() {
	outermost := int32(len(f.parents) - 1)
	for node := range f.Nodes {
		out := f.Out(int32(node))
		if len(out) == 0 || out[len(out)-1]&1 == 1 { // the node has an edge to the west
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

// unite merges two faces.
func (f *faces) unite(a, b int32) {
	if a, b = f.root(a), f.root(b); a != b {
		f.parents[a] = b
		f.area[b] += f.area[a]
	}
}

// halves lists the half-edges around each face: list[at[i]:at[i+1]] are those of face i.
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

// visit is a face on the current path of the walk.
type visit struct {
	face, entered int32 // the half-edge by which the walk entered; -1 for the first face
	next          int32 // index of the next half-edge to follow, in the list of halves
}

// walk is the state of the walk over all faces: the path, and which polygons cover its last face.
type walk struct {
	*faces
	polygonOf []int32
	inside    []bool    // per polygon: whether it covers the current face
	depth     int       // number of polygons that cover the current face
	passed    float64   // area of the faces visited so far
	since     []float64 // per polygon that covers the current face: passed at the time the walk entered the polygon
}

// cover visits all faces from the unbounded one on. It crosses each edge of its path twice, there and back. Crossing an
// edge toggles the polygons to which the edge belongs.
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

// pass crosses an edge.
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
