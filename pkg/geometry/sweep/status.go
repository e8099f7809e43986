package sweep

import "math/rand/v2"

// None is no node and no item.
const None = int32(-1)

// node is the place of one item: in a search tree, and in a list.
type node struct {
	item                int32
	parent, left, right int32
	prev, next          int32 // from south to north
	priority            uint32
}

// Status is an ordered list of items in a treap. Its priorities are random, so
// that nobody can send the geometry that makes a list of the tree; what it
// answers does not depend on them. The zero Status is not ready: see [New].
//
// It is not safe for concurrent use.
type Status struct {
	nodes       []node
	free        []int32
	root, first int32
	random      rand.PCG
	segment     func(item int32) *Segment
}

// New returns an empty status of items that have these segments.
func New(segment func(item int32) *Segment) *Status {
	t := &Status{root: None, first: None, segment: segment}
	t.nodes, t.free = make([]node, 0, 16), make([]int32, 0, 16)
	t.random.Seed(rand.Uint64(), rand.Uint64())
	return t
}

// Root is the node to begin a search at, or [None]. What lies south of a node is
// in its [Status.Left] subtree, what lies north of it in its [Status.Right] one.
func (t *Status) Root() int32 { return t.root }

// Left is the subtree south of a node, or [None].
func (t *Status) Left(n int32) int32 { return t.nodes[n].left }

// Right is the subtree north of a node, or [None].
func (t *Status) Right(n int32) int32 { return t.nodes[n].right }

// First is the southernmost node, or [None].
func (t *Status) First() int32 { return t.first }

// Prev is the node right south of a node, or [None].
func (t *Status) Prev(n int32) int32 { return t.nodes[n].prev }

// Next is the node right north of a node, or [None].
func (t *Status) Next(n int32) int32 { return t.nodes[n].next }

// Item is the item of a node, or [None] for [None].
func (t *Status) Item(n int32) int32 {
	if n == None {
		return None
	}
	return t.nodes[n].item
}

// SetItem puts another item into the place of a node.
func (t *Status) SetItem(n, item int32) { t.nodes[n].item = item }

// InsertAbove adds an item right north of a node, or south of all for [None].
func (t *Status) InsertAbove(under, item int32) int32 {
	n := t.take()
	next := t.first
	if under != None {
		next = t.nodes[under].next
	}
	t.nodes[n] = node{item: item, parent: None, left: None, right: None, prev: under, next: next, priority: uint32(t.random.Uint64())}
	if next != None {
		t.nodes[next].prev = n
	}
	if under != None {
		t.nodes[under].next = n
	} else {
		t.first = n
	}
	// The place in the tree is right of the one below, or else left of the one
	// above: one of these is free.
	switch {
	case under != None && t.nodes[under].right == None:
		t.nodes[under].right, t.nodes[n].parent = n, under
	case next != None:
		t.nodes[next].left, t.nodes[n].parent = n, next
	default:
		t.root = n
	}
	for parent := t.nodes[n].parent; parent != None && t.nodes[parent].priority < t.nodes[n].priority; parent = t.nodes[n].parent {
		t.lift(n)
	}
	return n
}

// Remove takes a node out.
func (t *Status) Remove(n int32) {
	for t.nodes[n].left != None || t.nodes[n].right != None {
		left, right := t.nodes[n].left, t.nodes[n].right
		if right == None || left != None && t.nodes[left].priority > t.nodes[right].priority {
			t.lift(left)
		} else {
			t.lift(right)
		}
	}
	t.replaceChild(t.nodes[n].parent, n, None)
	prev, next := t.nodes[n].prev, t.nodes[n].next
	if prev != None {
		t.nodes[prev].next = next
	} else {
		t.first = next
	}
	if next != None {
		t.nodes[next].prev = prev
	}
	t.free = append(t.free, n)
}

// take returns a node that is not in use.
func (t *Status) take() int32 {
	if last := len(t.free) - 1; last >= 0 {
		n := t.free[last]
		t.free = t.free[:last]
		return n
	}
	t.nodes = append(t.nodes, node{})
	return int32(len(t.nodes) - 1)
}

// lift puts a node in the place of its parent, and the parent below it.
func (t *Status) lift(n int32) {
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
	if moved != None {
		t.nodes[moved].parent = parent
	}
	t.nodes[parent].parent = n
}

// replaceChild puts a node, or none, where another one is below a parent.
func (t *Status) replaceChild(parent, old, n int32) {
	switch {
	case parent == None:
		t.root = n
	case t.nodes[parent].left == old:
		t.nodes[parent].left = n
	default:
		t.nodes[parent].right = n
	}
	if n != None {
		t.nodes[n].parent = parent
	}
}
