package attempt

import (
	"context"
	"sync"
	"time"
)

// deadline is the context of one handler call: context.WithDeadline, but created only when the handler uses it. A
// handler that returns at once never does, and a timer and an entry among the parent's children would cost more than its
// work.
type deadline struct {
	context.Context // of the partition
	at              time.Time

	mu     sync.Mutex // guards the following fields
	made   context.Context
	cancel context.CancelFunc
	over   bool
}

// deadlinesAtOnce is how many deadlines a caller allocates together. One that a handler keeps keeps the others in
// memory.
const deadlinesAtOnce = 16

// end cancels the context, also for later calls of its methods.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.cancel != nil {
		d.cancel()
	}
}

func (d *deadline) ask() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made == nil {
		d.made, d.cancel = context.WithDeadline(d.Context, d.at)
		if d.over {
			d.cancel()
		}
	}
	return d.made
}

// Deadline returns the call's deadline, or the parent's if that is earlier.
func (d *deadline) Deadline() (time.Time, bool) {
	if parent, ok := d.Context.Deadline(); ok && parent.Before(d.at) {
		return parent, true
	}
	return d.at, true
}

func (d *deadline) Done() <-chan struct{} { return d.ask().Done() }

func (d *deadline) Err() error { return d.ask().Err() }

// Value creates the context too: package context uses a value to find what it must cancel.
func (d *deadline) Value(key any) any { return d.ask().Value(key) }
