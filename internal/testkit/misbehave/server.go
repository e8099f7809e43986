package misbehave

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Server answers GET requests that have a key in the query parameter "id". A key without a script, or with no answers
// left, gets the default answer.
type Server struct {
	http *httptest.Server

	mu        sync.Mutex
	scripts   map[string][]Answer
	otherwise Answer
	arrivals  map[string][]time.Time
	changed   chan struct{} // closed and replaced at every arrival
	budget    int           // remaining answers, unlimited if negative
	refilled  chan struct{} // closed and replaced by Budget
	limit     limit
}

// New starts a server that the test's cleanup closes.
func New(t testing.TB) *Server {
	s := &Server{
		scripts: map[string][]Answer{}, otherwise: OK(),
		arrivals: map[string][]time.Time{}, changed: make(chan struct{}),
		budget: -1, refilled: make(chan struct{}),
	}
	s.http = httptest.NewServer(s)
	t.Cleanup(func() {
		s.http.CloseClientConnections() // a held request must not block the close
		s.http.Close()
	})
	return s
}

// URL returns the server's address, without a path.
func (s *Server) URL() string { return s.http.URL }

// Disconnect closes every connection, as a restarting service does.
func (s *Server) Disconnect() { s.http.CloseClientConnections() }

// Script sets the answers to a key's next requests, in order.
func (s *Server) Script(key string, answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[key] = slices.Clone(answers)
}

// Default sets the answer to every request that no script covers.
func (s *Server) Default(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.otherwise = a
}

// Budget makes the server return n answers. Further requests wait until it is called again or their client
// disconnects. A negative n means no limit. A test can thus stop a flow halfway, however fast the machine is.
func (s *Server) Budget(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget = n
	close(s.refilled)
	s.refilled = make(chan struct{})
}

// spend waits until there is budget for one answer. It returns false if the client has disconnected.
func (s *Server) spend(ctx context.Context) bool {
	for {
		s.mu.Lock()
		left, refilled := s.budget, s.refilled
		if left > 0 {
			s.budget--
		}
		s.mu.Unlock()
		if left != 0 {
			return true
		}
		select {
		case <-refilled:
		case <-ctx.Done():
			return false
		}
	}
}

// Arrivals returns the times at which a key's requests arrived, in order. They have a monotonic reading, so their
// differences do not depend on the wall clock.
func (s *Server) Arrivals(key string) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.arrivals[key])
}

// UntilArrivals returns once a key has made n requests. It fails the test if the context ends first.
func (s *Server) UntilArrivals(ctx context.Context, t testing.TB, key string, n int) []time.Time {
	t.Helper()
	for {
		s.mu.Lock()
		seen, changed := slices.Clone(s.arrivals[key]), s.changed
		s.mu.Unlock()
		if len(seen) >= n {
			return seen
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("waited for %d requests for key %q: %v; %d arrived", n, key, ctx.Err(), len(seen))
		}
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("id")
	answer := s.next(key, time.Now())
	if !s.spend(r.Context()) {
		return
	}
	if answer.Hold != nil {
		select {
		case <-answer.Hold:
		case <-r.Context().Done():
			return
		}
	}
	if answer.Reset {
		reset(w)
		return
	}
	if answer.Raw != "" {
		raw(w, answer.Raw)
		return
	}
	if answer.Status == http.StatusOK && !s.within(w.Header()) {
		answer = Status(http.StatusTooManyRequests)
	}
	if answer.RetryAfter != "" {
		w.Header().Set("Retry-After", answer.RetryAfter)
	}
	w.Header().Set("Content-Type", "application/json")
	for name, value := range answer.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(answer.Status)
	body := answer.Body
	if body == "" {
		body = fmt.Sprintf(`{"name":%q}`, PlaceName(key))
	}
	if answer.Drip > 0 {
		drip(r.Context(), w, body, answer.Drip)
		return
	}
	_, _ = w.Write([]byte(body)) // the client may have disconnected
}

// drip sends a body byte by byte until the client disconnects.
func drip(ctx context.Context, w http.ResponseWriter, body string, pause time.Duration) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for i := range len(body) {
		if _, err := w.Write([]byte{body[i]}); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// raw writes arbitrary bytes and closes the connection.
func raw(w http.ResponseWriter, text string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = conn.Write([]byte(text))
	_ = conn.Close()
}

// PlaceName returns the place name in a successful answer for a key.
func PlaceName(key string) string { return "place of " + key }

func (s *Server) next(key string, at time.Time) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrivals[key] = append(s.arrivals[key], at)
	close(s.changed)
	s.changed = make(chan struct{})
	script := s.scripts[key]
	if len(script) == 0 {
		return s.otherwise
	}
	s.scripts[key] = script[1:]
	return script[0]
}

// reset resets the connection in the middle of the body. It begins an answer because net/http's client silently retries
// if a reused connection ends without a byte.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // net/http then resets the connection
	}
	_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"))
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
