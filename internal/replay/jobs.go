package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/replay/operation"
)

// ErrNoJob marks an ID that no job has. Match it with errors.Is.
var ErrNoJob = errors.New("no such job")

// JobOrderError reports that a job cannot obey an order because it has ended or is ending.
type JobOrderError struct {
	Job  control.Job
	Verb control.JobVerb
}

// Error names the job, its state and the order.
func (e *JobOrderError) Error() string {
	return fmt.Sprintf("%s is %s: there is nothing to %s", e.Job.ID, e.Job.State, e.Verb)
}

// jobs returns the jobs of a control topic, each in the state that an observer sees.
func (s *Service) jobs(view control.View, taken func(replayID string) int) []control.Job {
	jobs, _ := view.LatestJobs(s.now())
	for i := range jobs {
		j := &jobs[i]
		recorded := j.State
		alive := s.holds(view.Lease, j)
		order := view.OrderFor(*j)
		j.State = jobStateSeen(recorded, order.Verb, order.At.Equal(j.Obeyed), alive)
		switch {
		case alive:
			j.Heard = view.Lease.Renewed
		case !recorded.Ended():
			s.died(j, taken)
		}
	}
	return jobs
}

// holds reports whether the process of a job is running.
func (s *Service) holds(l *control.Lease, j *control.Job) bool {
	return l != nil && !l.Released && l.Token == j.Run && s.now().Sub(l.Renewed) <= s.leaseLife
}

// died completes the record of a job whose process ended without writing its end. For a replay, it derives the rest
// from the states.
func (s *Service) died(j *control.Job, taken func(replayID string) int) {
	j.Why = "its replayer ended without a report: it was killed, or lost the brokers"
	if j.Kind != control.JobReplay {
		return
	}
	j.NotReached = min(j.NotReached, max(0, j.Letters-taken(j.ID)))
	switch {
	case j.NotReached > 0:
	case j.FailedAgain > 0:
		j.State = control.JobFailedAgain
	case j.Watched.Waiting == 0:
		j.State = control.JobDone
	}
}

// OrderJob writes an order for a job. The executing process, on whatever machine, reads it at the next renewal of its
// lease. OrderJob returns the job in its state after the order.
//
// A paused job finishes its transaction, sends nothing more, and keeps its lease. A cancelled job finishes its
// transaction and ends; committed changes stay. OrderJob returns a [JobOrderError] if no process can obey. The record
// of the job then contains the command that continues it.
func (s *Service) OrderJob(ctx context.Context, id, by string, verb control.JobVerb) (control.Job, error) {
	if err := operation.CheckActor(by); err != nil {
		return control.Job{}, err
	}
	j, err := s.Job(ctx, id)
	if err != nil {
		return j, err
	}
	switch judgeOrder(j.State, verb) {
	case orderRefuse:
		return j, &JobOrderError{Job: j, Verb: verb}
	case orderGiven:
		return j, nil
	case orderGive:
	}
	leases, err := s.store.OpenLeases()
	if err != nil {
		return j, err
	}
	defer leases.Close()
	order := control.JobOrder{Verb: verb, Run: j.Run, By: cmp.Or(by, s.by), At: s.now()}
	if err := leases.PutJobOrder(ctx, id, order); err != nil {
		return j, err
	}
	j.State = jobStateAtWork(verb, j.State == control.JobPaused)
	return j, nil
}

// Job returns the job with an ID, or [ErrNoJob].
func (s *Service) Job(ctx context.Context, id string) (control.Job, error) {
	st, err := s.states.Load(ctx)
	if err != nil {
		return control.Job{}, err
	}
	return s.job(ctx, st.Taken, id)
}

// job is [Service.Job] with states that the caller has already read.
func (s *Service) job(ctx context.Context, taken func(replayID string) int, id string) (control.Job, error) {
	view, err := s.store.Control(ctx)
	if err != nil && !s.store.Uncreated(err) {
		return control.Job{}, err
	}
	for _, j := range s.jobs(view, taken) {
		if j.ID == id {
			return j, nil
		}
	}
	return control.Job{}, fmt.Errorf("%w: %s has none with the id %s; `replayer replays` lists them", ErrNoJob, s.store.ControlName(), id)
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

// jobStateAtWork returns the state of a job whose process is running. rests reports whether the process is paused and
// sends nothing.
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

// jobStateEnded returns the state of a job whose execution returned err and these counts.
func jobStateEnded(err error, counts control.JobCounts) control.JobState {
	_, stopped := errors.AsType[*StopError](err)
	reached := counts.NotReached == 0 // nothing is left to send, even if the gate then refused the last wave
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
