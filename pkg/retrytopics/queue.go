package retrytopics

import (
	"slices"
)

// queue is first in, first out, and reuses its memory.
type queue[T any] struct {
	all  []T // those before head are gone
	head int
}

func (q *queue[T]) len() int { return len(q.all) - q.head }

// items returns the queue's items in order. They may be changed in place.
func (q *queue[T]) items() []T { return q.all[q.head:] }

func (q *queue[T]) push(items ...T) {
	if len(q.all)+len(items) > cap(q.all) && q.head > len(q.all)/2 {
		q.all = slices.Delete(q.all, 0, q.head)
		q.head = 0
	}
	q.all = append(q.all, items...)
}

// insert puts an item before the one at an index of items.
func (q *queue[T]) insert(at int, item T) {
	if at == q.len() {
		q.push(item)
		return
	}
	q.all = slices.Insert(q.all, q.head+at, item)
}

// pop removes and returns the first item. There must be one.
func (q *queue[T]) pop() T {
	var none T
	item := q.all[q.head]
	q.all[q.head] = none
	if q.head++; q.head == len(q.all) {
		q.all, q.head = q.all[:0], 0
	}
	return item
}

// drop removes all matching items.
func (q *queue[T]) drop(meant func(T) bool) {
	q.all = slices.DeleteFunc(slices.Delete(q.all, 0, q.head), meant)
	q.head = 0
}

// dueHeap orders tasks by the time they wake, then by offset.
type dueHeap []*task

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	if !h[i].wake.Equal(h[j].wake) {
		return h[i].wake.Before(h[j].wake)
	}
	return h[i].raw.Offset < h[j].raw.Offset
}
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(*task)) }
func (h *dueHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
