package session

import "time"

// A session that ends because a permission is missing blocks the engine, and a commit shows that the permission is back.
// If there is nothing to commit, a later session shows it by reading for a while without a refusal: brokers refuse a
// fetch, a heartbeat and a commit at once.

// provenAfter is how long a session must read without an error: several fetches of FetchMaxWait, and a heartbeat.
const provenAfter = 4 * time.Second

// reads records that a turn polls the group's topics. Time without polls does not count.
func (s *Session) reads(polls bool) {
	switch {
	case !polls:
		s.readsSince = time.Time{}
	case s.readsSince.IsZero():
		s.readsSince = time.Now()
	}
}

// proven clears the failure of an earlier session once this one has shown that it works.
func (s *Session) proven() {
	if !s.in.Health.SessionEnded() || s.readsSince.IsZero() || time.Since(s.readsSince) < provenAfter {
		return
	}
	if _, some := s.Sched.Pending(); !s.knowsPartitions() || some || s.unfinished() { // a commit will show it
		return
	}
	s.in.Health.Passed(s.in.Cfg.Logger)
	s.block()
}
