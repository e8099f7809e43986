package noding

import "container/heap"

// foresee queues the crossing ahead of two neighbouring edges, if they cross.
func (s *sweeper) foresee(lower, upper int32) error {
	if !s.status.Cross(lower, upper) {
		return nil
	}
	c := s.queue.arithmetic.crossingOf(&s.edges[lower], &s.edges[upper])
	c.l, c.u = lower, upper
	heap.Push(s.queue, &c)
	return nil
}

// cross moves the sweep over a place where edges cross and none ends. Every pair of neighbours that crosses there is
// already queued, so the queued crossings of the place name all edges through it. These edges are adjacent, and cross
// reverses their order.
func (s *sweeper) cross() error {
	q := s.queue
	s.stamp++
	s.pack = append(s.pack[:0], q.pop())
	for len(q.crossings) > 0 && q.arithmetic.compare(&s.pack[0], &q.crossings[0], q.edges) == 0 {
		s.pack = append(s.pack, q.pop())
	}
	at := none
	for i := range s.pack {
		for _, e := range [2]int32{s.pack[i].l, s.pack[i].u} {
			s.edges[e].stamp = s.stamp
			if s.edges[e].Node != none { // otherwise another edge covers it
				at = s.edges[e].Node
			}
		}
	}
	if at == none {
		return nil
	}
	low, high := s.status.Around(at, s.inPack)
	if low == high {
		return nil
	}
	if s.budget.crossings--; s.budget.crossings < 0 {
		return ErrCrossings
	}
	if s.crossed != nil {
		s.crossed(&s.pack[0])
	}
	s.reverse(low, high)
	if err := s.foresee(s.status.Item(s.status.Prev(low)), s.status.Item(low)); err != nil {
		return err
	}
	return s.foresee(s.status.Item(high), s.status.Item(s.status.Next(high)))
}

func (s *sweeper) inPack(node int32) bool { return s.edges[s.status.Item(node)].stamp == s.stamp }

// reverse reverses the order of the edges between two nodes.
func (s *sweeper) reverse(low, high int32) {
	s.hits, s.ended = s.hits[:0], s.ended[:0]
	for n := low; ; n = s.status.Next(n) {
		s.hits, s.ended = append(s.hits, n), append(s.ended, s.status.Item(n))
		if n == high {
			break
		}
	}
	for i, n := range s.hits {
		e := s.ended[len(s.ended)-1-i]
		s.status.SetItem(n, e)
		s.edges[e].Node = n
	}
}
