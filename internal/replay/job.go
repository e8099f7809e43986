package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/replay/operation"
)

// job keeps the record of one execution in the control topic. The execution reports its progress to the job and obeys
// its orders. The renewal of the lease writes the record and reads the orders, so the execution never waits for the
// control topic. The execution does not depend on the record.
type job struct {
	service *Service
	mu      sync.Mutex
	record  control.Job
	written control.Job // the record as it was last written
	order   control.JobOrder
	rests   bool          // the execution is paused and sends nothing
	heard   chan struct{} // closed when the next order arrives
}

// newJob returns the job of an operation on the given number of dead letters. run is the token of the lease.
func (s *Service) newJob(op operation.Operation, run string, letters int) *job {
	now := s.now()
	record := control.Job{
		ID: op.ID, Run: run, Kind: control.JobKind(op.Word), State: control.JobRunning, By: op.By, Reason: op.Reason, Began: now, Heard: now,
		JobCounts: control.JobCounts{Letters: letters, NotReached: letters},
	}
	if op.ContinueCommand != nil {
		record.Command = op.ContinueCommand(letters)
	}
	return &job{service: s, record: record, heard: make(chan struct{})}
}

// report stores the progress of the execution.
func (j *job) report(counts control.JobCounts) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.record.JobCounts = counts
}

// hear takes the latest order for this run from the control topic. A cancellation takes effect before a pause.
func (j *job) hear(view control.View, end func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if order := view.OrderFor(j.record); order.Verb != "" && j.order.Verb != control.CancelJob && order != j.order {
		j.order = order
		if order.Verb == control.CancelJob {
			end(&CancelledError{By: order.By})
		}
		close(j.heard)
		j.heard = make(chan struct{})
	}
}

// reachedAll reports whether the execution has decided about all its dead letters. It may still wait for the
// consumer.
func (j *job) reachedAll() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.record.NotReached == 0
}

// pauseOrdered reports whether the job must send nothing. The channel heard is closed when the next order arrives.
func (j *job) pauseOrdered() (yes bool, heard <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rests = j.order.Verb == control.PauseJob
	return j.rests, j.heard
}

// heed waits while a pause is ordered. It reports whether it waited.
func (j *job) heed(ctx context.Context) (waited bool, err error) {
	for {
		paused, heard := j.pauseOrdered()
		if !paused {
			return waited, ctx.Err() // a cancellation ends the pause
		}
		waited = true
		select {
		case <-heard:
		case <-ctx.Done():
			return waited, ctx.Err()
		}
	}
}

// now returns the current record, and reports whether it differs from the written one.
func (j *job) now() (record control.Job, changed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.record.State.Ended() {
		j.record.State, j.record.Why, j.record.Obeyed = jobStateAtWork(j.order.Verb, j.rests), "", j.order.At
		if j.order.Verb == control.PauseJob {
			j.record.Why = "paused by " + j.order.By
		}
	}
	record = j.record
	record.Heard = j.written.Heard
	if record == j.written {
		return record, false
	}
	record.Heard = j.service.now()
	return record, true
}

// write writes the record if it changed.
func (j *job) write(ctx context.Context, leases *control.Leases) error {
	record, changed := j.now()
	if !changed {
		return nil
	}
	if err := leases.PutJob(ctx, record); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.written = record
	return nil
}

// begins writes the record of a starting job, and removes the records whose retention has passed.
func (j *job) begins(ctx context.Context, leases *control.Leases, view control.View) {
	err := j.write(ctx, leases)
	if _, expired := view.LatestJobs(j.service.now()); err == nil && len(expired) > 0 {
		err = leases.RemoveJobs(ctx, slices.DeleteFunc(expired, func(id string) bool { return id == j.record.ID }))
	}
	j.warn(err)
}

// ends writes the final record of the job. If another replayer continues the replay under the same ID, that replayer
// writes the record instead.
func (j *job) ends(ctx context.Context, leases *control.Leases, counts control.JobCounts, cause error) {
	view, err := j.service.store.Control(ctx)
	switch {
	case err != nil && errors.Is(cause, ErrFenced), err == nil && view.Jobs[j.record.ID].Run != j.record.Run:
		return
	}
	j.mu.Lock()
	j.record.JobCounts, j.record.State, j.record.Why = counts, jobStateEnded(cause, counts), ""
	if cause != nil {
		j.record.Why = cause.Error()
	}
	j.mu.Unlock()
	if err = j.write(ctx, leases); err == nil && view.OrderFor(j.record).Verb != "" {
		err = leases.RemoveJobOrder(ctx, j.record.ID)
	}
	j.warn(err)
}

func (j *job) warn(err error) {
	if err != nil {
		j.service.log.Warn("the progress of this job was not written; `replayer replays` does not show it", "job", j.record.ID, "error", err)
	}
}

// cancelled returns the error of an execution. It names the operator if one cancelled the job.
func (x *execution) cancelled(err error) error {
	c, is := errors.AsType[*CancelledError](err)
	if !is {
		return err
	}
	counts := x.counts()
	return &CancelledError{By: c.By, Letters: counts.Letters, NotReached: counts.NotReached}
}

// counts returns the progress of an execution.
func (x *execution) counts() control.JobCounts {
	c := x.task.counts()
	c.Letters, c.Left, c.Transactions = x.letters, x.left.Left, x.transactions
	c.NotReached = max(0, x.letters-x.settled)
	return c
}

// report passes the progress of the execution to the job.
func (x *execution) report() { x.job.report(x.counts()) }

// heed waits before a batch while a pause is ordered. After the pause, the session decides about the batch again,
// since a decision contains its time.
func (s *session) heed(ctx context.Context, b *batch) error {
	waited, err := s.job.heed(ctx)
	if err != nil {
		return s.stopped(err)
	}
	if !waited {
		return nil
	}
	s.revert(b)
	if err := s.again(ctx, b); err != nil {
		return fmt.Errorf("decide again after the pause: %w", err)
	}
	return nil
}
