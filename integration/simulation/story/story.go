package story

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Story lists the events of a world in their order. Its methods are safe for concurrent use.
type Story struct {
	begin time.Time
	also  io.Writer // receives each line immediately; may be nil

	mu    sync.Mutex
	lines []string
}

// New starts a story now.
func New(also io.Writer) *Story { return &Story{begin: time.Now(), also: also} }

// Tell adds a line.
func (s *Story) Tell(format string, args ...any) {
	line := fmt.Sprintf("%9s  %s", time.Since(s.begin).Round(time.Millisecond), fmt.Sprintf(format, args...))
	s.mu.Lock()
	s.lines = append(s.lines, line)
	s.mu.Unlock()
	if s.also != nil {
		fmt.Fprintln(s.also, "=====", line)
	}
}

// String returns the complete story.
func (s *Story) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}
