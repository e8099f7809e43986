package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/switchback-geo/switchback/internal/control"
)

// CancelledError says that an operator cancelled a job. What was committed stays.
type CancelledError struct {
	By         string
	Letters    int // chosen
	NotReached int // of them
}

// Error says what was not reached.
func (e *CancelledError) Error() string {
	return fmt.Sprintf("STOPPED: %s cancelled it; %d of %d dead letters were not reached", e.By, e.NotReached, e.Letters)
}

// jobStateAtWork returns the state of a job whose process works. rests reports that it sends nothing and waits to go on.
func jobStateAtWork(order control.JobVerb, rests bool) control.JobState {
	switch {
	case order == control.CancelJob:
		return control.JobCancelling
	case order == control.PauseJob && rests:
		return control.JobPaused
	case order == control.PauseJob:
		return control.JobPausing
	}
	return control.JobRunning
}

// jobStateSeen returns the state of a job as everybody else sees it: by its record, by the latest order for it, by whether its process has
// heard that order, and by whether the process is alive.
func jobStateSeen(recorded control.JobState, order control.JobVerb, heard, alive bool) control.JobState {
	switch {
	case recorded.Ended():
		return recorded
	case !alive:
		return control.JobStopped
	}
	return jobStateAtWork(order, heard && recorded == control.JobPaused) // else it may have been resumed since
}

// jobStateEnded returns the state of a job whose execution returned err with these counts.
func jobStateEnded(err error, counts control.JobCounts) control.JobState {
	_, stopped := errors.AsType[*StopError](err)
	reached := counts.NotReached == 0 // the gate may say no to what was sent last: nothing is left to send
	switch {
	case isCancelled(err):
		return control.JobCancelled
	case reached && counts.FailedAgain > 0:
		return control.JobFailedAgain
	case err == nil, reached && counts.Watched.Waiting == 0:
		return control.JobDone
	case stopped || errors.Is(err, context.Canceled):
		return control.JobStopped
	}
	return control.JobFailed
}

func isCancelled(err error) bool {
	_, is := errors.AsType[*CancelledError](err)
	return is
}

// orderVerdict is what is done with an order for a job. It is a closed list.
type orderVerdict uint8

const (
	orderGive   orderVerdict = iota // write it
	orderGiven                      // the job obeys such an order already
	orderRefuse                     // the job cannot obey it
)

// judgeOrder decides whether a job in a state can be ordered something.
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

// Orders lists what a job in a state can be ordered, besides what it obeys already.
func Orders(state control.JobState) []control.JobVerb {
	return slices.DeleteFunc(control.JobVerbs(), func(v control.JobVerb) bool { return judgeOrder(state, v) != orderGive })
}
