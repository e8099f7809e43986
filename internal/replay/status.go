package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/states"
)

// Status returns the progress of one replay, without its dead letters.
func (s *Service) Status(ctx context.Context, id string) (states.Report, error) {
	report, _, err := s.Overview().Replay(ctx, id, states.OutcomeQuery{})
	return report, err
}

// Replay returns the progress of an operation and, for a replay, a page of its dead letters with their outcomes. A
// dead letter that a later replay took counts there. The error is [states.ErrNoReplay] if neither a job nor a dead letter
// has the ID. After another error, the next call continues.
func (o *Overview) Replay(ctx context.Context, id string, q states.OutcomeQuery) (states.Report, states.LetterOutcomes, error) {
	report, letters, err := o.replays.Report(ctx, id, q)
	if err == nil || errors.Is(err, states.ErrNoReplay) {
		report, err = o.withJob(ctx, report, err)
	}
	return report, letters, err
}

// withJob adds the job to a report from the states. unheard is [states.ErrNoReplay] if no state has the ID; withJob returns
// it if no job has it either.
func (o *Overview) withJob(ctx context.Context, report states.Report, unheard error) (states.Report, error) {
	j, err := o.service.jobs.Find(ctx, report.ReplayID, o.replays.Taken)
	switch {
	case err == nil:
		report.Job = &j
		report.Consumed = min(j.Watched.Consumed, report.Elsewhere) // the others have died again since
		return report, nil
	case errors.Is(err, jobs.ErrNoJob):
		return report, unheard
	}
	return report, err
}

// Await polls a replay until the consumer has finished all its dead letters, and reports each poll to tell. It waits
// for dead letters of other software until they count as unheard.
func (s *Service) Await(ctx context.Context, replayID string, tell func(states.Report)) (states.Report, error) {
	o := s.Overview()
	for {
		status, _, err := o.replays.Report(ctx, replayID, states.OutcomeQuery{})
		if err != nil {
			return status, err
		}
		if tell != nil {
			tell(status)
		}
		if status.UnderWay == 0 {
			return o.withJob(ctx, status, nil)
		}
		if err := kafka.Pause(ctx, time.Second); err != nil {
			return status, fmt.Errorf("stopped while the consumer had %d dead letters to finish: %w", status.UnderWay, err)
		}
	}
}
