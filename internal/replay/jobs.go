package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"

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
