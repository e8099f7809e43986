package jobs

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/replay/operation"
)

// Job keeps the record of one execution in the control topic. The execution reports its progress to the job and obeys
// its orders. The renewal of the lease writes the record and reads the orders, so the execution never waits for the
// control topic. The execution does not depend on the record.
type Job struct {
	registry *Registry
	mu       sync.Mutex
	record   control.Job
	written  control.Job // the record as it was last written
	order    control.JobOrder
	paused   bool          // the execution obeys a pause and sends nothing
	ordered  chan struct{} // closed when the next order arrives
}

// StartJob returns the job of the lease's operation on the given number of dead letters. [Lease.Take] writes its
// record.
func (l *Lease) StartJob(op operation.Operation, letters int) *Job {
	now := l.registry.Now()
	record := control.Job{
		ID: op.ID, Run: l.record.Token, Kind: control.JobKind(op.Word), State: control.JobRunning, By: op.By, Reason: op.Reason, Began: now, Heard: now,
		JobCounts: control.JobCounts{Letters: letters, NotReached: letters},
	}
	if op.ContinueCommand != nil {
		record.Command = op.ContinueCommand(letters)
	}
	l.job = &Job{registry: l.registry, record: record, ordered: make(chan struct{})}
	return l.job
}

// Report stores the progress of the execution.
func (j *Job) Report(counts control.JobCounts) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.record.JobCounts = counts
}

// receive takes the latest order for this run from the control topic. A cancellation takes effect before a pause.
func (j *Job) receive(view control.View, end func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if order := view.OrderFor(j.record); order.Verb != "" && j.order.Verb != control.CancelJob && order != j.order {
		j.order = order
		if order.Verb == control.CancelJob {
			end(&CancelledError{By: order.By})
		}
		close(j.ordered)
		j.ordered = make(chan struct{})
	}
}

// reachedAll reports whether the execution has decided about all its dead letters. It may still wait for the
// consumer.
func (j *Job) reachedAll() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.record.NotReached == 0
}

// pauseOrdered reports whether the job must send nothing. The channel ordered is closed when the next order arrives.
func (j *Job) pauseOrdered() (yes bool, ordered <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.paused = j.order.Verb == control.PauseJob
	return j.paused, j.ordered
}

// PauseOrdered reports whether an operator ordered a pause that is not over. The record of the job then says that the
// execution obeys it.
func (j *Job) PauseOrdered() bool {
	yes, _ := j.pauseOrdered()
	return yes
}

// WaitWhilePaused waits while a pause is ordered. It reports whether it waited.
func (j *Job) WaitWhilePaused(ctx context.Context) (waited bool, err error) {
	for {
		paused, ordered := j.pauseOrdered()
		if !paused {
			return waited, ctx.Err() // a cancellation ends the pause
		}
		waited = true
		select {
		case <-ordered:
		case <-ctx.Done():
			return waited, ctx.Err()
		}
	}
}

// now returns the current record, and reports whether it differs from the written one.
func (j *Job) now() (record control.Job, changed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.record.State.Ended() {
		j.record.State, j.record.Why, j.record.Obeyed = jobStateAtWork(j.order.Verb, j.paused), "", j.order.At
		if j.order.Verb == control.PauseJob {
			j.record.Why = "paused by " + j.order.By
		}
	}
	record = j.record
	record.Heard = j.written.Heard
	if record == j.written {
		return record, false
	}
	record.Heard = j.registry.Now()
	return record, true
}

// write writes the record if it changed.
func (j *Job) write(ctx context.Context, leases *control.Leases) error {
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
func (j *Job) begins(ctx context.Context, leases *control.Leases, view control.View) {
	earlier, known := view.Jobs[j.record.ID]
	j.mu.Lock()
	j.record.Again = known && earlier.Run != j.record.Run
	j.mu.Unlock()
	err := j.write(ctx, leases)
	if _, expired := view.LatestJobs(j.registry.Now()); err == nil && len(expired) > 0 {
		err = leases.RemoveJobs(ctx, slices.DeleteFunc(expired, func(id string) bool { return id == j.record.ID }))
	}
	j.warn(err)
}

// ends writes the final record of the job. If another replayer continues the replay under the same ID, that replayer
// writes the record instead.
func (j *Job) ends(ctx context.Context, leases *control.Leases, state control.JobState, counts control.JobCounts, cause error) {
	view, err := j.registry.Store.Control(ctx)
	switch {
	case err != nil && errors.Is(cause, ErrFenced), err == nil && view.Jobs[j.record.ID].Run != j.record.Run:
		return
	}
	j.mu.Lock()
	j.record.JobCounts, j.record.State, j.record.Why = counts, state, ""
	if cause != nil {
		j.record.Why = cause.Error()
	}
	j.mu.Unlock()
	if err = j.write(ctx, leases); err == nil && view.OrderFor(j.record).Verb != "" {
		err = leases.RemoveJobOrder(ctx, j.record.ID)
	}
	j.warn(err)
}

func (j *Job) warn(err error) {
	if err != nil {
		j.registry.Log.Warn("the progress of this job was not written; `replayer replays` does not show it", "job", j.record.ID, "error", err)
	}
}
