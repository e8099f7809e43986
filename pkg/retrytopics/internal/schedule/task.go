package schedule

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Task is a record that will be attempted, as the scheduler sees it. The caller's task embeds it. The exported fields
// are the caller's to set.
type Task struct {
	Partition *Partition
	Work      any       // the caller's task; the scheduler only carries it
	Index     int64     // of the record among the accepted ones of its partition, from 0
	Offset    int64     // of the record
	Weight    int       // bytes of the record in memory
	KeyHash   uint64    // two keys with one hash only wait for each other
	Keyed     bool      // the record has a key
	Retried   bool      // the record was attempted before
	Wake      time.Time // not before; zero: at once
	Due       time.Time // of a retry record, for Stats; zero if it has none

	// The worker sets these before it gives the task back.
	Down        *Outage // of an attempt that counts although it met an outage; nil otherwise
	ResultBytes int     // of the records that the attempt will produce

	behind *Task  // the task that waits for this one, with the same key
	hasKey bool   // no other task of its key runs; see takeKey
	waits  *since // nil unless it has met an outage
}

// queued returns the task as an item of the queues.
func (t *Task) queued() Record {
	return Record{Task: t, Partition: t.Partition, Index: t.Index}
}

// takeKey gives a task its key, or lets it wait behind the task that has it. Only running tasks and those deferred for a
// dependency have a key, so the map of keys stays small, whatever waits in the queues. The scheduler's mutex is held.
func (t *Task) takeKey() bool {
	if !t.Keyed || t.hasKey {
		return true
	}
	keys := t.Partition.keys
	last := keys[t.KeyHash]
	keys[t.KeyHash] = t
	if last != nil {
		last.behind = t
	}
	t.hasKey = last == nil
	return t.hasKey
}

// Record is a record that waits for a worker. Thousands wait, and a task is many times as large. So the task of a
// source record is made when a worker takes it.
type Record struct {
	Task      *Task // nil until it is needed
	Partition *Partition
	Raw       *kgo.Record // of a record without a task; nil if a former owner has finished it
	Index     int64       // among the accepted records of the partition, from 0
	Restored  int64       // runs of a former owner that the partition had not fetched again when it accepted this record
}

// task returns the record's task, which its partition makes now if there is none. The mutex is held.
func (r Record) task() *Task {
	if r.Task == nil {
		return r.Partition.make(r)
	}
	return r.Task
}

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
type dueHeap []*Task

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	if !h[i].Wake.Equal(h[j].Wake) {
		return h[i].Wake.Before(h[j].Wake)
	}
	return h[i].Offset < h[j].Offset
}
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(*Task)) }
func (h *dueHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
