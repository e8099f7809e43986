package sweep

import (
	"cmp"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry/exact"
)

// Segment is what the sweep knows of an item.
type Segment struct {
	West, East orb.Point // its ends, in the order of [Compare]
	Node       int32     // of the item, or None; see [Status.Place]
}

// Compare is the order in which a sweep comes to places: from west to east, and from south to north where the longitude is the same.
func Compare(p, q orb.Point) int {
	return cmp.Or(cmp.Compare(p[0], q[0]), cmp.Compare(p[1], q[1]))
}

// Before reports whether a sweep comes to p before q.
func Before(p, q orb.Point) bool { return p[0] < q[0] || p[0] == q[0] && p[1] < q[1] }

// Find returns a node whose segment p lies on, or None. Then under is the node right below p, or None.
func (t *Status) Find(p orb.Point) (at, under int32) {
	under = None
	for n := t.root; n != None; {
		e := t.segment(t.nodes[n].item)
		switch side := exact.Side(e.West, e.East, p); {
		case side == 0:
			return n, None
		case side > 0:
			under, n = n, t.nodes[n].right
		default:
			n = t.nodes[n].left
		}
	}
	return None, under
}

// Around returns the lowest and the highest of the nodes side by side, n among them, of which meant is true. It is true of n.
func (t *Status) Around(n int32, meant func(node int32) bool) (low, high int32) {
	low, high = n, n
	for n := t.Prev(low); n != None && meant(n); n = t.Prev(n) {
		low = n
	}
	for n := t.Next(high); n != None && meant(n); n = t.Next(n) {
		high = n
	}
	return low, high
}

// Through returns the lowest and the highest of the nodes whose segments p lies on. It lies on that of n.
func (t *Status) Through(n int32, p orb.Point) (low, high int32) {
	return t.Around(n, func(node int32) bool {
		e := t.segment(t.nodes[node].item)
		return exact.Side(e.West, e.East, p) == 0
	})
}

// Place puts items, from south to north, right above the item below, or None. It reuses nodes, which lie there, and removes those that are left.
func (t *Status) Place(below int32, nodes, items []int32) {
	for len(nodes) > len(items) {
		last := len(nodes) - 1
		t.Remove(nodes[last])
		nodes = nodes[:last]
	}
	under := None
	if below != None {
		under = t.segment(below).Node
	}
	for i, item := range items {
		if i < len(nodes) {
			under = nodes[i]
			t.SetItem(under, item)
		} else {
			under = t.InsertAbove(under, item)
		}
		t.segment(item).Node = under
	}
}

// Cross reports whether the segments of two neighbours, which are in order at the sweep, cross ahead of it. It looks at the end that comes first:
// when that lies on the wrong side of the other segment, they cross. When it lies on it, they touch, which the sweep will see there.
func (t *Status) Cross(lower, upper int32) bool {
	if lower == None || upper == None {
		return false
	}
	l, u := t.segment(lower), t.segment(upper)
	switch {
	case l.East == u.East:
		return false
	case Before(l.East, u.East):
		return exact.Side(u.West, u.East, l.East) > 0
	default:
		return exact.Side(l.West, l.East, u.East) < 0
	}
}
