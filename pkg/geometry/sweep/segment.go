package sweep

import (
	"cmp"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry/exact"
)

// Segment is the segment of an item.
type Segment struct {
	West, East orb.Point // its ends, in the order of [Compare]
	Node       int32     // of the item, or None; see [Status.Place]
}

// Compare orders places as a sweep reaches them: from west to east, and from south to north at the same longitude.
func Compare(p, q orb.Point) int {
	return cmp.Or(cmp.Compare(p[0], q[0]), cmp.Compare(p[1], q[1]))
}

// Before reports whether a sweep reaches p before q.
func Before(p, q orb.Point) bool { return p[0] < q[0] || p[0] == q[0] && p[1] < q[1] }

// Meet appends to nodes those whose segments p lies on, from south to north. known is one of them, or [None] if the caller
// knows none. below and above are the items right below and right above these nodes, or p if there are none.
func (t *Status) Meet(nodes []int32, p orb.Point, known int32) (met []int32, below, above int32) {
	at, under := known, None
	if at == None {
		at, under = t.find(p)
	}
	switch {
	case at == None && under == None:
		return nodes, None, t.Item(t.first)
	case at == None:
		return nodes, t.Item(under), t.Item(t.Next(under))
	}
	low, high := t.Around(at, func(node int32) bool {
		e := t.segment(t.nodes[node].item)
		return exact.Side(e.West, e.East, p) == 0
	})
	for n := low; ; n = t.Next(n) {
		if nodes = append(nodes, n); n == high {
			return nodes, t.Item(t.Prev(low)), t.Item(t.Next(high))
		}
	}
}

// find returns a node whose segment p lies on, or None. Then under is the node right below p, or None.
func (t *Status) find(p orb.Point) (at, under int32) {
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

// Around returns the lowest and the highest node of the run of neighbours around n for which meant is true. meant must be
// true for n.
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

// Place puts items, given from south to north, right above the item below, or lowest if that is [None]. nodes are the
// nodes that lie there now: Place reuses them and removes those that it does not need.
func (t *Status) Place(below int32, nodes, items []int32) {
	for len(nodes) > len(items) {
		last := len(nodes) - 1
		t.remove(nodes[last])
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
			under = t.insertAbove(under, item)
		}
		t.segment(item).Node = under
	}
}

// Cross reports whether the segments of two neighbouring items cross ahead of the sweep. They do if the east end that
// comes first lies on the wrong side of the other segment. If it lies on that segment, they touch, and the sweep finds
// that there.
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
