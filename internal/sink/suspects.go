package sink

import "sync"

// mostSuspects bounds the memory. A forgotten one waits once more.
const mostSuspects = 4096

// suspects stores which events failed for a reason that may be the table's, and how many batches had passed by then.
type suspects struct {
	mu   sync.Mutex
	seen map[string]uint64
}

// note returns how many batches had passed when the event was first noted; now, if this is the first time.
func (s *suspects) note(id string, now uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, known := s.seen[id]; known {
		return first
	}
	if s.seen == nil || len(s.seen) >= mostSuspects {
		s.seen = map[string]uint64{}
	}
	s.seen[id] = now
	return now
}

func (s *suspects) forget(batch []*job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		return
	}
	for _, j := range batch {
		delete(s.seen, j.id())
	}
}
