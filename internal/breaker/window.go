package breaker

import "time"

// pieces is the number of parts of a window; it slides by one part.
const pieces = 10

// parts counts requests and failures in the parts of a sliding window.
type parts struct {
	latest             int64 // number of the current part
	requests, failures [pieces]int
}

// add counts a request in the part of a moment, and drops expired parts.
func (p *parts) add(window, now time.Duration, failed bool) {
	at := int64(now / max(window/pieces, 1))
	for n := min(at-p.latest, pieces); n > 0; n-- {
		slot := (at - n + 1) % pieces
		p.requests[slot], p.failures[slot] = 0, 0
	}
	p.latest = max(p.latest, at)
	p.requests[p.latest%pieces]++
	if failed {
		p.failures[p.latest%pieces]++
	}
}

func (p *parts) sum() (requests, failures int) {
	for i := range pieces {
		requests, failures = requests+p.requests[i], failures+p.failures[i]
	}
	return requests, failures
}

// ring keeps the latest outcomes one by one.
type ring struct {
	size  int
	next  int
	items []ended
}

// ended is one request.
type ended struct {
	at     time.Duration
	failed bool
}

func (r *ring) add(at time.Duration, failed bool) {
	if len(r.items) < r.size {
		r.items = append(r.items, ended{at, failed})
		return
	}
	r.items[r.next] = ended{at, failed}
	r.next = (r.next + 1) % r.size
}

// since counts the outcomes after a moment.
func (r *ring) since(from time.Duration) (requests, failures int) {
	for _, o := range r.items {
		if o.at <= from {
			continue
		}
		requests++
		if o.failed {
			failures++
		}
	}
	return requests, failures
}
