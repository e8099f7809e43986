package attempt

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// maxImmediate limits how often a failure of class retry_now is retried in place, before anything is published.
const maxImmediate = 3

// callerConfig is what callers have in common.
type callerConfig struct {
	Limit    time.Duration // of one call
	Classify func(error) classify.Failure
	Logger   *slog.Logger
}

// Caller calls a handler for one record after another. It belongs to one worker; only Callers may read it meanwhile.
type Caller struct {
	callerConfig

	source    atomic.Pointer[header.Position] // of the current record, where it first appeared; nil between two records
	since     atomic.Int64                    // when its attempt began, in Unix nanoseconds
	deadlines []deadline                      // unused ones
}

// Begin starts the attempt at the record that first appeared at source.
func (c *Caller) Begin(source *header.Position) {
	c.since.Store(time.Now().UnixNano())
	c.source.Store(source)
}

// End ends the attempt.
func (c *Caller) End() { c.source.Store(nil) }

// Call calls a handler, and calls it again at once for failures of class retry_now. The first call began at a time of
// package time's clock.
func (c *Caller) Call(ctx context.Context, began time.Time, handler func(context.Context) error) error {
	for n := 0; ; n++ {
		err := c.once(ctx, began.Add(c.Limit), handler)
		if err == nil || n == maxImmediate || c.Classify(err).Class != classify.RetryNow {
			return err
		}
		began = time.Now()
	}
}

// once calls a handler once. A panic becomes an error of this record (S4-15).
func (c *Caller) once(ctx context.Context, until time.Time, handler func(context.Context) error) (err error) {
	limited := c.deadline(ctx, until)
	defer limited.end()
	defer func() {
		if value := recover(); value != nil {
			err = &classify.PanicError{Value: value, Stack: debug.Stack()}
			c.Logger.ErrorContext(ctx, "handler panicked", "source", c.source.Load().String(), "error", err, "stack", string(debug.Stack()))
		}
	}()
	return handler(limited)
}

// deadline returns the context of one call.
func (c *Caller) deadline(ctx context.Context, at time.Time) *deadline {
	if len(c.deadlines) == 0 {
		c.deadlines = make([]deadline, deadlinesAtOnce)
	}
	d := &c.deadlines[0]
	c.deadlines = c.deadlines[1:]
	d.Context, d.at = ctx, at
	return d
}
