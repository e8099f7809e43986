package validity

import (
	"math/rand/v2"

	"github.com/paulmach/orb"
)

// node is the place of one edge in the status: in a search tree, and in a list.
type node struct {
	edge                int32
	parent, left, right int32
	prev, next          int32 // from south to north
	priority            uint32
}

// status holds the edges that the sweep is passing, from south to north, in a
// treap. Its priorities are random, so that nobody can send the geometry that
// makes a list of the tree; what it answers does not depend on them.
type status struct {
	sweep       *sweep
	nodes       []node
	free        []int32
	root, first int32
	random      rand.PCG
}

func (t *status) init(s *sweep) {
	*t = status{sweep: s, root: none, first: none}
	t.nodes, t.free = make([]node, 0, 16), make([]int32, 0, 16)
	t.random.Seed(rand.Uint64(), rand.Uint64())
}

// edgeOf is the edge of a node, or none.
func (t *status) edgeOf(n int32) int32 {
	if n == none {
		return none
	}
	return t.nodes[n].edge
}

// find returns a node whose edge p lies on, or none; then under is the one below
// p, or none.
func (t *status) find(p orb.Point) (at, under int32) {
	under = none
	for n := t.root; n != none; {
		e := &t.sweep.edges[t.nodes[n].edge]
		switch side := sideOf(e.west, e.east, p); {
		case side == 0:
			return n, none
		case side > 0:
			under, n = n, t.nodes[n].right
		default:
			n = t.nodes[n].left
		}
	}
	return none, under
}

// insert adds an edge right above a node, or below all for none.
func (t *status) insert(e, under int32) int32 {
	n := t.take()
	next := t.first
	if under != none {
		next = t.nodes[under].next
	}
	t.nodes[n] = node{edge: e, parent: none, left: none, right: none, prev: under, next: next, priority: uint32(t.random.Uint64())}
	t.sweep.edges[e].node = n
	if next != none {
		t.nodes[next].prev = n
	}
	if under != none {
		t.nodes[under].next = n
	} else {
		t.first = n
	}
	// The place in the tree is right of the one below, or else left of the one
	// above: one of these is free.
	switch {
	case under != none && t.nodes[under].right == none:
		t.nodes[under].right, t.nodes[n].parent = n, under
	case next != none:
		t.nodes[next].left, t.nodes[n].parent = n, next
	default:
		t.root = n
	}
	for parent := t.nodes[n].parent; parent != none && t.nodes[parent].priority < t.nodes[n].priority; parent = t.nodes[n].parent {
		t.lift(n)
	}
	return n
}

// remove takes a node out.
func (t *status) remove(n int32) {
	for t.nodes[n].left != none || t.nodes[n].right != none {
		left, right := t.nodes[n].left, t.nodes[n].right
		if right == none || left != none && t.nodes[left].priority > t.nodes[right].priority {
			t.lift(left)
		} else {
			t.lift(right)
		}
	}
	t.replaceChild(t.nodes[n].parent, n, none)
	prev, next := t.nodes[n].prev, t.nodes[n].next
	if prev != none {
		t.nodes[prev].next = next
	} else {
		t.first = next
	}
	if next != none {
		t.nodes[next].prev = prev
	}
	t.free = append(t.free, n)
}

// take returns a node that is not in use.
func (t *status) take() int32 {
	if last := len(t.free) - 1; last >= 0 {
		n := t.free[last]
		t.free = t.free[:last]
		return n
	}
	t.nodes = append(t.nodes, node{})
	return int32(len(t.nodes) - 1)
}

// lift puts a node in the place of its parent, and the parent below it.
func (t *status) lift(n int32) {
	parent := t.nodes[n].parent
	t.replaceChild(t.nodes[parent].parent, parent, n)
	var moved int32
	if t.nodes[parent].left == n {
		moved = t.nodes[n].right
		t.nodes[parent].left, t.nodes[n].right = moved, parent
	} else {
		moved = t.nodes[n].left
		t.nodes[parent].right, t.nodes[n].left = moved, parent
	}
	if moved != none {
		t.nodes[moved].parent = parent
	}
	t.nodes[parent].parent = n
}

// replaceChild puts a node, or none, where another one is below a parent.
func (t *status) replaceChild(parent, old, n int32) {
	switch {
	case parent == none:
		t.root = n
	case t.nodes[parent].left == old:
		t.nodes[parent].left = n
	default:
		t.nodes[parent].right = n
	}
	if n != none {
		t.nodes[n].parent = parent
	}
}
