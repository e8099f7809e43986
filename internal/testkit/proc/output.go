package proc

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"sync"
)

// Output collects what a process writes to one stream.
type Output struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{} // closed and replaced at every write
	ended   bool
}

func newOutput() *Output { return &Output{changed: make(chan struct{})} }

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.buf.Write(p)
	close(o.changed)
	o.changed = make(chan struct{})
	return n, err
}

func (o *Output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	close(o.changed)
	o.changed = make(chan struct{})
}

// String returns everything written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// Tail returns the last n bytes written.
func (o *Output) Tail(n int) string {
	all := o.String()
	if len(all) <= n {
		return all
	}
	return "…" + all[len(all)-n:]
}

var errEnded = errors.New("the process ended without writing it")

func (o *Output) match(ctx context.Context, pattern *regexp.Regexp) ([]string, error) {
	for {
		o.mu.Lock()
		found, ended, changed := pattern.FindStringSubmatch(o.buf.String()), o.ended, o.changed
		o.mu.Unlock()
		switch {
		case found != nil:
			return found, nil
		case ended:
			return nil, errEnded
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
