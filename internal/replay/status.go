package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// ErrNoReplay marks a replay id that no letter has. Match it with errors.Is.
var ErrNoReplay = errors.New("no such replay")

// Report says how far a replay is (S4-8).
type Report struct {
	ReplayID   string `json:"replay_id"`
	Attempted  int    `json:"attempted"`          // letters that it put back; one that a later replay took counts there
	Duplicates int    `json:"duplicates"`         // closed, since a letter of the same content was put back
	Elsewhere  int    `json:"elsewhere,omitzero"` // of those attempted: sent to another topic, where nobody here hears of them
	Outcome           // what the consumer made of the others
	// Unheard counts letters of other software that were put back longer ago than dead_letters.unheard_after and did not die
	// again: whether that software processed them, nobody says.
	Unheard      int       `json:"unheard"`
	UnheardSince time.Time `json:"unheard_since,omitzero"` // when the first of them was put back
	Ended        int       `json:"ended"`                  // letters of other software that an operator did not wait for any longer
	Last         time.Time `json:"last"`                   // when a letter of it changed last
	// Job is the operation; nil when it is longer ago than jobs are kept.
	Job *control.Job `json:"job,omitempty"`
}

// Status says how far an operation is, and of a replay what the consumer made of its letters. The error is [ErrNoReplay] when neither a
// job nor a letter has its id.
func (s *Service) Status(ctx context.Context, id string) (Report, error) {
	report, st, err := s.replayStatus(ctx, id)
	if err != nil && !errors.Is(err, ErrNoReplay) {
		return report, err
	}
	return s.withJob(ctx, report, st, err)
}

// withJob adds the job to what the states say of an operation. unheard is [ErrNoReplay] when they say nothing: the job may.
func (s *Service) withJob(ctx context.Context, report Report, st *standing, unheard error) (Report, error) {
	j, err := s.job(ctx, st, report.ReplayID)
	switch {
	case err == nil:
		report.Job = &j
		report.Consumed = min(j.Watched.Consumed, report.Elsewhere) // the others died again since
		return report, nil
	case errors.Is(err, ErrNoJob):
		return report, unheard
	}
	return report, err
}

// replayStatus says how far a replay is, from the states of its letters, which it returns too. The error is [ErrNoReplay] when no letter
// has its id.
func (s *Service) replayStatus(ctx context.Context, replayID string) (Report, *standing, error) {
	st, err := s.loadStanding(ctx)
	if err != nil {
		return Report{}, nil, err
	}
	failed := map[idKey]bool{} // letters of other software that the DLQ says failed again
	if since, has := st.theirs(replayID); has {
		_, err = s.listen(ctx, replayID, nil, since, func(l *deadletters.Letter) {
			failed[keyOf(l.ID)] = true
			st.hear(l)
		})
		if err != nil {
			return Report{}, nil, err
		}
	}
	status := st.report(replayID, failed, s.now().Add(-s.cfg.DeadLetters.UnheardAfter.Std()))
	if status.Last.IsZero() {
		err = fmt.Errorf("%w: no dead letter in %s has the replay id %s; replayer audit lists replays", ErrNoReplay, s.cfg.Topics.DLQStatus, replayID)
	}
	return status, st, err
}

// theirs returns from when on the DLQ may tell what of a replay failed in other software, and whether that has any of it.
func (s *standing) theirs(replayID string) (since time.Time, has bool) {
	for _, m := range s.ofReplay(replayID) {
		switch at := m.time(); {
		case !m.has(theirs):
		case m.fate() != fateUnderWay: // it can have died again before its state changed
			return time.Time{}, true
		case !has || at.Before(since):
			since, has = at, true
		}
	}
	return since, has
}

// report counts the letters of a replay. Those of other software that were put back before a time, and of which nothing was heard, are
// told apart from those that are under way.
func (s *standing) report(replayID string, failed map[idKey]bool, heardSince time.Time) Report {
	r := Report{ReplayID: replayID, Outcome: Outcome{Reasons: map[string]int{}}}
	for key, m := range s.ofReplay(replayID) {
		at, of := m.time(), m.fate()
		if at.After(r.Last) {
			r.Last = at
		}
		switch {
		case of == fateUnderWay && m.has(theirs) && at.Before(heardSince):
			r.Unheard++
			if r.UnheardSince.IsZero() || at.Before(r.UnheardSince) {
				r.UnheardSince = at
			}
		case of == fateAsDuplicate:
			r.Duplicates++
			continue
		case of == fateElsewhere:
			r.Elsewhere++
		case of == fateDecided && m.has(theirs) && !failed[key]:
			r.Ended++
		case of == fateDecided && m.has(undone):
			r.Closed++
		case of == fateDecided: // it failed again, and an operator decided about it since
			r.FailedAgain++
		default:
			r.add(of, s.words.list[m.reason], 1)
		}
		r.Attempted++
	}
	return r
}

// Await looks at a replay until the consumer has finished all of its letters, and tells how far it is. Letters of other
// software are waited for until they count as not heard of.
func (s *Service) Await(ctx context.Context, replayID string, tell func(Report)) (Report, error) {
	for {
		status, st, err := s.replayStatus(ctx, replayID)
		if err != nil {
			return status, err
		}
		if tell != nil {
			tell(status)
		}
		if status.UnderWay == 0 {
			return s.withJob(ctx, status, st, nil)
		}
		if err := kafka.Pause(ctx, time.Second); err != nil {
			return status, fmt.Errorf("stopped while the consumer had %d dead letters to finish: %w", status.UnderWay, err)
		}
	}
}
