package attempt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

func TestDeadline(t *testing.T) {
	t.Parallel()
	type name struct{}
	reason := errors.New("partition taken away")
	for _, c := range []struct {
		name  string
		do    func(d *deadline, parent context.CancelCauseFunc)
		err   error
		cause error
	}{
		{"runs", func(*deadline, context.CancelCauseFunc) {}, nil, nil},
		{"ended before anybody asked", func(d *deadline, _ context.CancelCauseFunc) { d.end() }, context.Canceled, context.Canceled},
		{"ended after somebody asked", func(d *deadline, _ context.CancelCauseFunc) { d.Done(); d.end() }, context.Canceled, context.Canceled},
		{"over time, nobody asked", func(*deadline, context.CancelCauseFunc) { time.Sleep(2 * time.Second) }, context.DeadlineExceeded, context.DeadlineExceeded},
		{"over time, somebody asked", func(d *deadline, _ context.CancelCauseFunc) { <-d.Done() }, context.DeadlineExceeded, context.DeadlineExceeded},
		{"the parent ended", func(_ *deadline, parent context.CancelCauseFunc) { parent(reason) }, context.Canceled, reason},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), name{}, "partition"))
				defer cancel(nil)
				d := &deadline{Context: parent, at: time.Now().Add(time.Second)}
				defer d.end()
				at, ok := d.Deadline()
				expect.That(t, ok && at.Equal(d.at), "Deadline = %v, %v, want %v", at, ok, d.at)
				c.do(d, cancel)
				err, cause := d.Err(), context.Cause(d)
				expect.That(t, errors.Is(err, c.err) && errors.Is(cause, c.cause), "Err = %v, cause %v, want %v and %v", err, cause, c.err, c.cause)
				expect.That(t, d.Value(name{}) == "partition", "the parent's values are lost")
			})
		})
	}
}

func TestDeadline_children_end_with_it(t *testing.T) {
	t.Parallel()
	d := &deadline{Context: t.Context(), at: time.Now().Add(time.Hour)}
	child, cancel := context.WithTimeout(d, 2*time.Hour)
	defer cancel()
	at, _ := child.Deadline()
	expect.That(t, at.Equal(d.at), "the child's deadline is %v, want the parent's %v", at, d.at)
	d.end()
	<-child.Done()
	late := &deadline{Context: child, at: time.Now().Add(3 * time.Hour)}
	at, _ = late.Deadline()
	expect.That(t, at.Equal(d.at), "deadline %v, want that of the parent, which comes before: %v", at, d.at)
}
