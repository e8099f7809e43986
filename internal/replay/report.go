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
)

// ErrNoReplay marks a replay ID that no dead letter has. Match it with errors.Is.
var ErrNoReplay = errors.New("no such replay")

// Report is the progress of a replay (S4-8).
type Report struct {
	ReplayID   string `json:"replay_id"`
	Attempted  int    `json:"attempted"`          // dead letters that it put back and that no later replay has taken
	Duplicates int    `json:"duplicates"`         // closed because a dead letter of the same content was put back
	Elsewhere  int    `json:"elsewhere,omitzero"` // of those attempted: sent to a topic outside the pipeline, which reports no outcome
	Outcome           // outcomes of the others
	// Unheard counts dead letters of other software that were put back longer ago than dead_letters.unheard_after and
	// did not die again. That software does not report whether it processed them.
	Unheard      int       `json:"unheard"`
	UnheardSince time.Time `json:"unheard_since,omitzero"` // when the first of them was put back
	Ended        int       `json:"ended"`                  // dead letters of other software for which an operator ended the wait
	Last         time.Time `json:"last"`                   // when a dead letter of it last changed
	// Job is the operation; nil if its record is older than jobs are kept.
	Job *control.Job `json:"job,omitempty"`
}

// Report returns the progress of a replay, and a page of its dead letters with their outcomes. A dead letter that a
// later replay took counts there. The error is [ErrNoReplay] if no dead letter has the ID.
func (o *Replays) Report(ctx context.Context, replayID string, q OutcomeQuery) (report Report, letters LetterOutcomes, err error) {
	err = o.judge(ctx, replayID, func(r Report, v verdicts) error {
		report, letters = r, o.outcomes(r, v, q)
		return o.noReplay(report)
	})
	return report, letters, err
}

// noReplay returns [ErrNoReplay] if a report contains no dead letter.
func (o *Replays) noReplay(r Report) error {
	if r.Last.IsZero() {
		return fmt.Errorf("%w: no dead letter in %s has the replay id %s; replayer audit lists replays", ErrNoReplay, o.reader.Store.Topics.DLQStatus, r.ReplayID)
	}
	return nil
}

// judge reads the new states and calls fn with the report of a replay. During the call, the standing includes the
// failures in other software.
func (o *Replays) judge(ctx context.Context, replayID string, fn func(Report, verdicts) error) error {
	if err := o.Read(ctx); err != nil {
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
	v := verdicts{failed: failed, heardSince: o.reader.Now().Add(-o.reader.DeadLetters.UnheardAfter.Std())}
	report := o.standing.report(replayID, v)
	if !theirs && !report.Last.IsZero() { // the report of other software changes with time and with the DLQ
		o.counted[replayID] = counted{o.changes, report}
	}
	return fn(report, v)
}

// counted is a report that is valid until a state changes. To count a million dead letters takes about 50 ms.
type counted struct {
	changes int // value of Replays.changes
	report  Report
}

// verdicts has what decides about the outcomes of dead letters in other software.
type verdicts struct {
	failed     map[idKey]bool // dead letters that failed again in other software, from the DLQ
	heardSince time.Time      // a dead letter that was put back before and has no outcome counts as unheard
}

// of returns the fate of a dead letter. It never returns [fateDecided], but the fate before the decision.
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

// hearing contains the failures of one replay in other software.
type hearing struct {
	topic kadm.TopicID // of the DLQ
	since time.Time    // where the reading began
	next  map[int32]int64
	said  []deadletters.Letter // dead letters that failed, without content
}

// hear returns the dead letters that failed again in other software, from the DLQ, and whether other software has any
// dead letter of the replay. It reads what is new since the last call.
func (o *Replays) hear(ctx context.Context, replayID string) (said []deadletters.Letter, theirs bool, err error) {
	since, theirs := o.standing.theirs(replayID)
	if !theirs {
		return nil, false, nil
	}
	topic, err := o.reader.Store.TopicID(ctx, o.reader.Store.Topics.DLQ)
	if err != nil {
		return nil, true, err
	}
	h := hearing{topic: topic, since: since}
	if before := o.hearings[replayID]; before != nil && before.topic == topic && !since.Before(before.since) {
		h = *before
	}
	h.next, err = o.reader.Failures(ctx, replayID, h.next, h.since, func(l *deadletters.Letter) {
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

// hearAll applies the failures to the standing (see [standing.hear]) until restore is called. The states that are
// read next must follow the written states.
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

// theirs returns the time from which the DLQ can report failures of a replay in other software, and whether other
// software has any of its dead letters.
func (s *standing) theirs(replayID string) (since time.Time, has bool) {
	for _, m := range s.ofReplay(replayID) {
		switch at, of := m.time(), m.fate(); {
		case !m.has(theirs):
		case of != fateUnderWay && of != fateElsewhere: // it may have died again before its state changed
			return time.Time{}, true
		case !has || at.Before(since):
			since, has = at, true
		}
	}
	return since, has
}

// report counts the dead letters of a replay.
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
		case of == fateFailedAgain && m.fate() == fateDecided: // the reason in the state is the operator's
			r.FailedAgain++
		default:
			r.add(of, s.words.list[m.reason], 1)
		}
		r.Attempted++
	}
	return r
}
