package misbehave

import (
	"fmt"
	"math"
	"net/http"
	"time"
)

// limit is a number of successful answers in a window, announced in the header fields of
// draft-ietf-httpapi-ratelimit-headers.
type limit struct {
	size    int // 0 for none
	window  time.Duration
	left    int
	ends    time.Time
	refused int
}

// Limit makes the server return n successful answers in each window, and 429 beyond them. Every answer announces how
// many are left.
func (s *Server) Limit(n int, window time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit{size: n, window: window}
}

// Refused returns the number of requests beyond the limit.
func (s *Server) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit.refused
}

// within counts one request and writes the header fields. It reports whether the request is within the limit.
func (s *Server) within(h http.Header) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.limit
	if l.size == 0 {
		return true
	}
	now := time.Now()
	if !now.Before(l.ends) {
		l.left, l.ends = l.size, now.Add(l.window)
	}
	ok := l.left > 0
	if ok {
		l.left--
	} else {
		l.refused++
	}
	h.Set("Ratelimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, l.size, int(l.window.Seconds())))
	h.Set("Ratelimit", fmt.Sprintf(`"default";r=%d;t=%d`, l.left, int(math.Ceil(l.ends.Sub(now).Seconds()))))
	return ok
}
