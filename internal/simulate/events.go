package simulate

import "time"

// event is something that happens to a record at a time.
type event struct {
	at     time.Duration
	number int // among equal times, the lower number comes first
	what   func(*item)
	item   *item
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.number < o.number }

// agenda has the future events, the next one first: a binary heap. The standard library's heap passes values as any,
// which would take half of the time of a run.
type agenda struct {
	events []event
}

func (a *agenda) push(e event) {
	a.events = append(a.events, e)
	at := len(a.events) - 1
	for at > 0 {
		parent := (at - 1) / 2
		if !e.before(a.events[parent]) {
			break
		}
		a.events[at] = a.events[parent]
		at = parent
	}
	a.events[at] = e
}

// pop takes the next event. There must be one.
func (a *agenda) pop() event {
	first, last := a.events[0], a.events[len(a.events)-1]
	a.events[len(a.events)-1] = event{}
	if a.events = a.events[:len(a.events)-1]; len(a.events) > 0 {
		a.sink(last)
	}
	return first
}

// sink puts an event in the place of the first one.
func (a *agenda) sink(e event) {
	at := 0
	for {
		child := 2*at + 1
		if child >= len(a.events) {
			break
		}
		if right := child + 1; right < len(a.events) && a.events[right].before(a.events[child]) {
			child = right
		}
		if !a.events[child].before(e) {
			break
		}
		a.events[at] = a.events[child]
		at = child
	}
	a.events[at] = e
}

// queue has the records that wait for a slot, the next one first.
type queue struct {
	back []*item // runnable again before all others, the latest last
	rest []*item
}

func (q *queue) len() int { return len(q.back) + len(q.rest) }

func (q *queue) push(items ...*item) { q.rest = append(q.rest, items...) }

// pushFront puts a record before all others.
func (q *queue) pushFront(it *item) { q.back = append(q.back, it) }

// pop takes the next record. There must be one.
func (q *queue) pop() *item {
	if n := len(q.back); n > 0 {
		it := q.back[n-1]
		q.back[n-1] = nil
		q.back = q.back[:n-1]
		return it
	}
	it := q.rest[0]
	q.rest[0] = nil
	q.rest = q.rest[1:]
	return it
}
