package retrytopics

import (
	"context"
	"sync"
	"time"
)

// deadline is the context of one call of a handler: context.WithDeadline, made only once somebody asks for it. A handler
// that finishes at once never does, and a timer and a place among the parent's children would cost it more than its work.
type deadline struct {
	context.Context // of the partition
	at              time.Time

	mu     sync.Mutex
	made   context.Context
	cancel context.CancelFunc
	over   bool
}

// deadlinesAtOnce is how many deadlines a worker makes at once. One that a handler keeps keeps the others in memory.
const deadlinesAtOnce = 16

func (w *worker) deadline(ctx context.Context, at time.Time) *deadline {
	if len(w.deadlines) == 0 {
		w.deadlines = make([]deadline, deadlinesAtOnce)
	}
	d := &w.deadlines[0]
	w.deadlines = w.deadlines[1:]
	d.Context, d.at = ctx, at
	return d
}

// end cancels the context, also for those who ask for it later.
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

// Deadline is that of the call, or that of the parent when it comes before.
func (d *deadline) Deadline() (time.Time, bool) {
	if parent, ok := d.Context.Deadline(); ok && parent.Before(d.at) {
		return parent, true
	}
	return d.at, true
}

func (d *deadline) Done() <-chan struct{} { return d.ask().Done() }

func (d *deadline) Err() error { return d.ask().Err() }

// Value asks too: package context finds by a value what it must cancel, and why.
func (d *deadline) Value(key any) any { return d.ask().Value(key) }
