package retrytopics

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// The queue does what a slice does that is cut at its head.
func TestQueueAsASlice(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		var q queue[int]
		var want []int
		for step := range 5000 {
			switch n := r.IntN(10); {
			case n < 3:
				q.push(step)
				want = append(want, step)
			case n == 3:
				q.push(step, -step)
				want = append(want, step, -step)
			case n == 4:
				at := r.IntN(len(want) + 1)
				q.insert(at, step)
				want = slices.Insert(want, at, step)
			case n == 5 && step%100 == 0:
				odd := func(i int) bool { return i%2 != 0 }
				q.drop(odd)
				want = slices.DeleteFunc(want, odd)
			case len(want) > 0:
				if got := q.pop(); got != want[0] {
					t.Fatalf("seed %d, step %d: popped %d, want %d", seed, step, got, want[0])
				}
				want = want[1:]
			}
			if q.len() != len(want) || !slices.Equal(q.items(), want) {
				t.Fatalf("seed %d, step %d: %v, want %v", seed, step, q.items(), want)
			}
		}
	}
}

func TestQueueKeepsItsMemory(t *testing.T) {
	t.Parallel()
	var q queue[*int]
	for range 100_000 {
		for range 10 {
			q.push(new(int))
		}
		for range 10 {
			q.pop()
		}
		q.push(new(int), new(int))
		q.pop()
		q.pop()
	}
	expect.That(t, cap(q.all) <= 64, "room for %d items, there were never more than 10", cap(q.all))
}
