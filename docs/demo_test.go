package docs_test

import (
	"bytes"
	"context"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/demo"
	"github.com/switchback-geo/switchback/internal/testkit/expect"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// short is the demo's story with the waits taken out of it: the same features, the same kinds of failure.
func short() demo.Story {
	none := time.Duration(0)
	return demo.Story{
		Pace: demo.Pace{Burst: 500 * time.Millisecond, Share: 0.6, Spread: time.Second},
		Script: demo.Script{
			Seed: 7946, Unavailable: 0.01, OutageAfter: 200 * time.Millisecond, OutageFor: 300 * time.Millisecond,
		},
		Tiers:  []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, time.Second},
		Jitter: &none,
	}
}

// shortDelays is an environment in which the base delay is that of the short story's first tier.
func shortDelays(name string) string {
	return map[string]string{config.Variable("pipeline.retry_policy.base_delay_seconds"): "0.1"}[name]
}

// startDemo plays the demo to the point where it waits for Ctrl-C, and returns its broker's address.
func startDemo(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	screen := newScreen(regexp.MustCompile(`Broker on (\S+), topic`), regexp.MustCompile(`Ctrl-C ends the demo`))
	ended := make(chan error, 1)
	go func() {
		ended <- demo.Run(ctx, demo.Options{
			Stdout: screen, Stderr: screen, MetricsListen: "", Env: shortDelays, Story: short(),
		})
	}()
	t.Cleanup(func() {
		cancel()
		err := <-ended
		expect.That(t, err == nil, "the demo ended with %v after:\n%s", err, screen)
	})
	select {
	case <-screen.done:
	case err := <-ended:
		ended <- err
		t.Fatalf("the demo ended early: %v, after:\n%s", err, screen)
	case <-time.After(testrun.Patient(blockBound)):
		t.Fatalf("the demo did not come to its end:\n%s", screen)
	}
	return screen.found[0]
}

// screen collects what is printed and says when all patterns have come, in their order.
type screen struct {
	mu       sync.Mutex
	text     bytes.Buffer
	patterns []*regexp.Regexp
	found    []string // the first group of each pattern that has one; read it after done
	done     chan struct{}
}

func newScreen(patterns ...*regexp.Regexp) *screen {
	return &screen{patterns: patterns, done: make(chan struct{})}
}

// Write takes a piece of output.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	for len(s.patterns) > 0 {
		m := s.patterns[0].FindStringSubmatch(s.text.String())
		if m == nil {
			break
		}
		if len(m) > 1 {
			s.found = append(s.found, m[1])
		}
		if s.patterns = s.patterns[1:]; len(s.patterns) == 0 {
			close(s.done)
		}
	}
	return len(p), nil
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
