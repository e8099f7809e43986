package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/operation"
)

// OrderJob writes an order for a job (see [jobs.Registry.Order]). It returns the job in its state after the order.
func (s *Service) OrderJob(ctx context.Context, id, by string, verb control.JobVerb) (control.Job, error) {
	if err := operation.CheckActor(by); err != nil {
		return control.Job{}, err
	}
	j, err := s.Job(ctx, id)
	if err != nil {
		return j, err
	}
	return s.jobs.Order(ctx, j, cmp.Or(by, s.by), verb)
}

// Job returns the job with an ID, or [jobs.ErrNoJob].
func (s *Service) Job(ctx context.Context, id string) (control.Job, error) {
	st, err := s.states.Load(ctx)
	if err != nil {
		return control.Job{}, err
	}
	return s.jobs.Find(ctx, id, st.Taken)
}

// jobStateEnded returns the state of a job whose execution returned err and these counts.
func jobStateEnded(err error, counts control.JobCounts) control.JobState {
	_, stopped := errors.AsType[*StopError](err)
	_, cancelled := errors.AsType[*jobs.CancelledError](err)
	reached := counts.NotReached == 0 // nothing is left to send, even if the gate then refused the last wave
	switch {
	case cancelled:
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

// cancelled returns the error of an execution. It names the operator if one cancelled the job.
func (x *execution) cancelled(err error) error {
	c, is := errors.AsType[*jobs.CancelledError](err)
	if !is {
		return err
	}
	counts := x.counts()
	return &jobs.CancelledError{By: c.By, Letters: counts.Letters, NotReached: counts.NotReached}
}

// counts returns the progress of an execution.
func (x *execution) counts() control.JobCounts {
	c := x.task.counts()
	c.Letters, c.Left, c.Transactions = x.letters, x.left.Left, x.transactions
	c.NotReached = max(0, x.letters-x.settled)
	return c
}

// report passes the progress of the execution to the job.
func (x *execution) report() { x.job.Report(x.counts()) }

// waitWhilePaused waits before a batch while a pause is ordered. After the pause, the session decides about the batch
// again, since a decision contains its time.
func (s *session) waitWhilePaused(ctx context.Context, b *batch) error {
	waited, err := s.job.WaitWhilePaused(ctx)
	if err != nil {
		return s.stopped(err)
	}
	if !waited {
		return nil
	}
	s.revert(b)
	if err := s.decideAgain(ctx, b); err != nil {
		return fmt.Errorf("decide again after the pause: %w", err)
	}
	return nil
}
