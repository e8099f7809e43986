package retrytopics

import (
	"time"
)

// A session that ends for a missing permission blocks the engine, and a commit shows that the trouble is over. Where nothing comes that
// could be committed, a later session shows it by reading for a while without being refused: brokers refuse a fetch, a heartbeat and a
// commit at once.

// provenAfter is how long a session must read without an error: several fetches of FetchMaxWait, and a heartbeat.
const provenAfter = 4 * time.Second

// reads notes whether a turn polls the group's topics. The time of a session that does not does not count.
func (s *session) reads(polls bool) {
	switch {
	case !polls:
		s.readsSince = time.Time{}
	case s.readsSince.IsZero():
		s.readsSince = time.Now()
	}
}

// proven ends the trouble that an earlier session ended with, once this one has shown that it works.
func (s *session) proven() {
	if !s.e.health.sessionEnded() || s.readsSince.IsZero() || time.Since(s.readsSince) < provenAfter {
		return
	}
	s.mu.Lock()
	told := s.told
	s.mu.Unlock()
	if _, some := s.sched.pending(); !told || some || s.unfinished() { // a commit will show it
		return
	}
	s.e.health.passed(s.e.cfg.Logger)
	s.block()
}
