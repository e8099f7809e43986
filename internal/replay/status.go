package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

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

// Status is [Overview.Replay] of who asks once, without its letters.
func (s *Service) Status(ctx context.Context, id string) (Report, error) {
	report, _, err := s.Overview().Replay(ctx, id, OutcomeQuery{})
	return report, err
}

// Replay says how far an operation is and, of a replay, what became of its letters. A letter that a later replay took counts there. The error
// is [ErrNoReplay] when neither a job nor a letter has the id. After an error the next question goes on from there.
func (o *Overview) Replay(ctx context.Context, id string, q OutcomeQuery) (Report, LetterOutcomes, error) {
	report, letters, err := o.report(ctx, id, q)
	if err == nil || errors.Is(err, ErrNoReplay) {
		report, err = o.withJob(ctx, report, err)
	}
	return report, letters, err
}

// withJob adds the job to what the states say of an operation. unheard is [ErrNoReplay] when they say nothing: the job may.
func (o *Overview) withJob(ctx context.Context, report Report, unheard error) (Report, error) {
	j, err := o.service.job(ctx, o.standing, report.ReplayID)
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

// report is [Overview.Replay] without the job: the error is [ErrNoReplay] when no letter has the id.
func (o *Overview) report(ctx context.Context, replayID string, q OutcomeQuery) (report Report, letters LetterOutcomes, err error) {
	err = o.judge(ctx, replayID, func(r Report, v verdicts) error {
		report, letters = r, o.outcomes(r, v, q)
		return o.noReplay(report)
	})
	return report, letters, err
}

// noReplay is [ErrNoReplay] when a report is about no letter.
func (o *Overview) noReplay(r Report) error {
	if r.Last.IsZero() {
		return fmt.Errorf("%w: no dead letter in %s has the replay id %s; replayer audit lists replays", ErrNoReplay, o.service.cfg.Topics.DLQStatus, r.ReplayID)
	}
	return nil
}

// judge reads what is new, and calls fn with how a replay is, while the standing has what other software says of it.
func (o *Overview) judge(ctx context.Context, replayID string, fn func(Report, verdicts) error) error {
	if err := o.read(ctx); err != nil {
		return err
	}
	if c, known := o.counted[replayID]; known && c.changes == o.changes {
		return fn(c.report, verdicts{})
	}
	said, theirs, err := o.hear(ctx, replayID)
	if err != nil {
		return err
	}
	failed, restore := o.standing.hearAll(said)
	defer restore()
	v := verdicts{failed: failed, heardSince: o.service.now().Add(-o.service.cfg.DeadLetters.UnheardAfter.Std())}
	report := o.standing.report(replayID, v)
	if !theirs && !report.Last.IsZero() { // of other software, time and the DLQ tell, too
		o.counted[replayID] = counted{o.changes, report}
	}
	return fn(report, v)
}

// counted is a report that stands until a state changes: to count a million letters takes some 50 ms.
type counted struct {
	changes int // of the overview
	report  Report
}

// verdicts tell what became of letters, of which other software may have some.
type verdicts struct {
	failed     map[idKey]bool // those of other software that the DLQ says failed again
	heardSince time.Time      // of those that were put back before, and of which nothing was heard, nobody says anything any more
}

// of returns the fate of a letter. It is never [fateDecided]: that the letter had another one before is known.
func (v verdicts) of(key idKey, m mark) fate {
	switch of := m.fate(); {
	case of == fateUnderWay && m.has(theirs) && m.time().Before(v.heardSince):
		return fateUnheard
	case of == fateDecided && m.has(theirs) && !v.failed[key]:
		return fateEnded
	case of == fateDecided && m.has(undone):
		return fateClosed
	case of == fateDecided:
		return fateFailedAgain
	default:
		return of
	}
}

// hearing is what the DLQ says of the letters of one replay that other software has.
type hearing struct {
	topic kadm.TopicID // of the DLQ
	since time.Time    // where the reading began
	next  map[int32]int64
	said  []deadletters.Letter // without content
}

// hear returns the letters of other software of which the DLQ says that they failed again in a replay, and whether other software has any
// of it. It reads what came since the last call.
func (o *Overview) hear(ctx context.Context, replayID string) (said []deadletters.Letter, theirs bool, err error) {
	since, theirs := o.standing.theirs(replayID)
	if !theirs {
		return nil, false, nil
	}
	topic, err := o.service.topicID(ctx, o.service.cfg.Topics.DLQ)
	if err != nil {
		return nil, true, err
	}
	h := hearing{topic: topic, since: since}
	if before := o.hearings[replayID]; before != nil && before.topic == topic && !since.Before(before.since) {
		h = *before
	}
	h.next, err = o.service.listen(ctx, replayID, h.next, h.since, func(l *deadletters.Letter) {
		heard := *l
		heard.Key, heard.Content = slices.Clone(l.Key), nil
		h.said = append(h.said, heard)
	})
	if err != nil {
		return nil, true, err
	}
	o.hearings[replayID] = &h
	return h.said, true, nil
}

// hearAll takes over what letters say (see [standing.hear]) until restore is called: states that are read later are about what was
// written, whoever heard of it meanwhile.
func (s *standing) hearAll(said []deadletters.Letter) (failed map[idKey]bool, restore func()) {
	failed, before := map[idKey]bool{}, map[idKey]mark{}
	for i := range said {
		key := keyOf(said[i].ID)
		if m, known := s.marks[key]; known && !failed[key] {
			before[key] = m
		}
		failed[key] = true
		s.hear(&said[i])
	}
	return failed, func() { maps.Copy(s.marks, before) }
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

// report counts the letters of a replay.
func (s *standing) report(replayID string, v verdicts) Report {
	r := Report{ReplayID: replayID, Outcome: Outcome{Reasons: map[string]int{}}}
	for key, m := range s.ofReplay(replayID) {
		at := m.time()
		if at.After(r.Last) {
			r.Last = at
		}
		switch of := v.of(key, m); {
		case of == fateUnheard:
			r.Unheard++
			if r.UnheardSince.IsZero() || at.Before(r.UnheardSince) {
				r.UnheardSince = at
			}
		case of == fateAsDuplicate:
			r.Duplicates++
			continue
		case of == fateElsewhere:
			r.Elsewhere++
		case of == fateEnded:
			r.Ended++
		case of == fateFailedAgain && m.fate() == fateDecided: // the reason is the operator's
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
	o := s.Overview()
	for {
		status, _, err := o.report(ctx, replayID, OutcomeQuery{})
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
