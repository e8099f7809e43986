package sweep

import "math/rand/v2"

// None stands for no node and for no item.
const None = int32(-1)

// node is the place of one item in a search tree and in a list. What lies south of a node is in its left subtree.
type node struct {
	item                int32
	parent, left, right int32
	prev, next          int32 // in the list, from south to north
	priority            uint32
}

// Status holds items in order, in a treap. Its priorities are random, so that no geometry can degrade the tree to a list.
// Its results do not depend on them. [New] creates a Status. It is not safe for concurrent use.
type Status struct {
	nodes       []node
	free        []int32
	root, first int32
	random      rand.PCG
	segment     func(item int32) *Segment
}

// New returns an empty status. segment returns the segment of an item.
func New(segment func(item int32) *Segment) *Status {
	t := &Status{root: None, first: None, segment: segment}
	t.nodes, t.free = make([]node, 0, 16), make([]int32, 0, 16)
	t.random.Seed(rand.Uint64(), rand.Uint64())
	return t
}

// Prev returns the node right south of a node, or [None].
func (t *Status) Prev(n int32) int32 { return t.nodes[n].prev }

// Next returns the node right north of a node, or [None].
func (t *Status) Next(n int32) int32 { return t.nodes[n].next }

// Item returns the item of a node, or [None] for [None].
func (t *Status) Item(n int32) int32 {
	if n == None {
		return None
	}
	return t.nodes[n].item
}

// SetItem puts another item into the place of a node.
func (t *Status) SetItem(n, item int32) { t.nodes[n].item = item }

// insertAbove adds an item right north of a node, or south of all nodes for [None].
func (t *Status) insertAbove(under, item int32) int32 {
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
	// The new node becomes the right child of the node below or the left child of the node above. One of them is free.
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

// remove removes a node.
func (t *Status) remove(n int32) {
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

// lift exchanges a node with its parent.
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

// replaceChild replaces a child of a parent by a node or by none.
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
