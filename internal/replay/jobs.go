package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/switchback-geo/switchback/internal/control"
)

// ErrNoJob marks an id that no job has. Match it with errors.Is.
var ErrNoJob = errors.New("no such job")

// JobOrderError says that a job cannot be ordered something: it has ended, or is about to.
type JobOrderError struct {
	Job  control.Job
	Verb control.JobVerb
}

// Error says how the job stands.
func (e *JobOrderError) Error() string {
	return fmt.Sprintf("%s is %s: there is nothing to %s", e.Job.ID, e.Job.State, e.Verb)
}

// jobs returns the jobs of a control topic in the states in which everybody sees them.
func (s *Service) jobs(view control.View, st *standing) []control.Job {
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
			s.died(j, st)
		}
	}
	return jobs
}

// holds reports whether the process of a job is at work.
func (s *Service) holds(l *control.Lease, j *control.Job) bool {
	return l != nil && !l.Released && l.Token == j.Run && s.now().Sub(l.Renewed) <= s.leaseLife
}

// died tells of a job whose process has ended without a word. The states know of a replay what the process did not write any more.
func (s *Service) died(j *control.Job, st *standing) {
	j.Why = "its replayer ended without a word: it was killed, or lost the brokers"
	if j.Kind != control.JobReplay {
		return
	}
	j.NotReached = min(j.NotReached, max(0, j.Letters-st.taken(j.ID)))
	switch {
	case j.NotReached > 0:
	case j.FailedAgain > 0:
		j.State = control.JobFailedAgain
	case j.Watched.Waiting == 0:
		j.State = control.JobDone
	}
}

// OrderJob orders something of a job, where the executing process, on whatever machine, hears it with the next renewal of its lease. The job
// that is returned stands as the order makes it.
//
// A job that pauses sends nothing after the transaction at hand, keeps its lease and waits. One that is cancelled ends after the
// transaction at hand; what it committed stays. The error is a [JobOrderError] when no process can obey: its job has the command that
// goes on.
func (s *Service) OrderJob(ctx context.Context, id, by string, verb control.JobVerb) (control.Job, error) {
	if err := checkActor(by); err != nil {
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
	leases, err := s.openLeases()
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

// Job returns one job. The error is [ErrNoJob] when there is none with the id.
func (s *Service) Job(ctx context.Context, id string) (control.Job, error) {
	st, err := s.loadStanding(ctx)
	if err != nil {
		return control.Job{}, err
	}
	return s.job(ctx, st, id)
}

// job is [Service.Job] by states that were read before.
func (s *Service) job(ctx context.Context, st *standing, id string) (control.Job, error) {
	view, err := s.control(ctx)
	if err != nil && !s.unmade(err) {
		return control.Job{}, err
	}
	for _, j := range s.jobs(view, st) {
		if j.ID == id {
			return j, nil
		}
	}
	return control.Job{}, fmt.Errorf("%w: %s has none with the id %s; `replayer replays` lists them", ErrNoJob, s.controlName(), id)
}

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
