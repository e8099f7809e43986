package sweep

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// After each change, the list, the tree and the neighbours of the status agree with a slice.
func TestStatus_keeps_the_order(t *testing.T) {
	seed := testrun.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	status := New(nil)
	var want []int32  // items from south to north
	var nodes []int32 // their nodes
	for item := range int32(2_000) {
		if len(want) > 0 && random.IntN(3) == 0 {
			i := random.IntN(len(want))
			status.remove(nodes[i])
			want, nodes = slices.Delete(want, i, i+1), slices.Delete(nodes, i, i+1)
		} else {
			i, under := random.IntN(len(want)+1), None
			if i > 0 {
				under = nodes[i-1]
			}
			want, nodes = slices.Insert(want, i, item), slices.Insert(nodes, i, status.insertAbove(under, item))
		}
		if item%50 == 0 {
			checkStatus(t, status, want, nodes)
		}
	}
}

func checkStatus(t *testing.T, status *Status, want, nodes []int32) {
	t.Helper()
	var list, tree []int32
	for n := status.first; n != None; n = status.Next(n) {
		list = append(list, status.Item(n))
	}
	var walk func(n int32)
	walk = func(n int32) {
		if n == None {
			return
		}
		walk(status.nodes[n].left)
		tree = append(tree, status.Item(n))
		walk(status.nodes[n].right)
	}
	walk(status.root)
	must.That(t, slices.Equal(list, want) && slices.Equal(tree, want), "list %v, tree %v, want %v", list, tree, want)
	prev := None
	for _, n := range nodes {
		must.That(t, status.Prev(n) == prev, "the node south of %d is %d, want %d", n, status.Prev(n), prev)
		prev = n
	}
}
