package jobs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/switchback-geo/switchback/internal/control"
)

// ErrNoJob marks an ID that no job has. Match it with errors.Is.
var ErrNoJob = errors.New("no such job")

// OrderError reports that a job cannot obey an order because it has ended or is ending.
type OrderError struct {
	Job  control.Job
	Verb control.JobVerb
}

// Error names the job, its state and the order.
func (e *OrderError) Error() string {
	return fmt.Sprintf("%s is %s: there is nothing to %s", e.Job.ID, e.Job.State, e.Verb)
}

// CancelledError reports that an operator cancelled a job. Committed changes stay.
type CancelledError struct {
	By         string
	Letters    int // chosen dead letters
	NotReached int // chosen dead letters that were not reached
}

// Error names the operator and the number of dead letters that were not reached.
func (e *CancelledError) Error() string {
	return fmt.Sprintf("STOPPED: %s cancelled it; %d of %d dead letters were not reached", e.By, e.NotReached, e.Letters)
}

func cancelled(err error) bool {
	_, is := errors.AsType[*CancelledError](err)
	return is
}

// jobStateAtWork returns the state of a job whose process is running. paused reports whether the process obeys a pause
// and sends nothing.
func jobStateAtWork(order control.JobVerb, paused bool) control.JobState {
	switch {
	case order == control.CancelJob:
		return control.JobCancelling
	case order == control.PauseJob && paused:
		return control.JobPaused
	case order == control.PauseJob:
		return control.JobPausing
	}
	return control.JobRunning
}

// jobStateSeen returns the state of a job for an observer. It depends on the record, the latest order, whether the
// process has read that order, and whether the process is running.
func jobStateSeen(recorded control.JobState, order control.JobVerb, heard, alive bool) control.JobState {
	switch {
	case recorded.Ended():
		return recorded
	case !alive:
		return control.JobStopped
	}
	return jobStateAtWork(order, heard && recorded == control.JobPaused) // an unread order may follow a resumption
}

// orderVerdict is the decision about an order for a job. It is a closed list.
type orderVerdict uint8

const (
	orderGive   orderVerdict = iota // write the order
	orderGiven                      // the job already obeys such an order
	orderRefuse                     // the job cannot obey the order
)

// judgeOrder decides about an order for a job in the given state.
func judgeOrder(state control.JobState, verb control.JobVerb) orderVerdict {
	switch state {
	case control.JobRunning:
		if verb == control.ResumeJob {
			return orderGiven
		}
		return orderGive
	case control.JobPausing, control.JobPaused:
		if verb == control.PauseJob {
			return orderGiven
		}
		return orderGive
	case control.JobCancelling:
		if verb == control.CancelJob {
			return orderGiven
		}
		return orderRefuse
	case control.JobStopped, control.JobCancelled, control.JobDone, control.JobFailedAgain, control.JobFailed:
	}
	return orderRefuse
}

// Orders returns the orders that a job in the given state can obey and does not obey already.
func Orders(state control.JobState) []control.JobVerb {
	return slices.DeleteFunc(control.JobVerbs(), func(v control.JobVerb) bool { return judgeOrder(state, v) != orderGive })
}
