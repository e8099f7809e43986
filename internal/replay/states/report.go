package states

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
	Counts            // outcomes of the others
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
	err = o.judge(ctx, replayID, func(r Report, v foreignFacts) error {
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

// judge reads the new states and calls fn with the report of a replay. During the call, the table includes the
// failures in other software.
func (o *Replays) judge(ctx context.Context, replayID string, fn func(Report, foreignFacts) error) error {
	if err := o.Read(ctx); err != nil {
		return err
	}
	if c, known := o.counted[replayID]; known && c.changes == o.changes {
		return fn(c.report, foreignFacts{})
	}
	reported, someForeign, err := o.readFailures(ctx, replayID)
	if err != nil {
		return err
	}
	failed, restore := o.table.applyFailures(reported)
	defer restore()
	v := foreignFacts{failed: failed, unheardBefore: o.reader.Now().Add(-o.reader.DeadLetters.UnheardAfter.Std())}
	report := o.table.report(replayID, v)
	if !someForeign && !report.Last.IsZero() { // the report of other software changes with time and with the DLQ
		o.counted[replayID] = counted{o.changes, report}
	}
	return fn(report, v)
}

// counted is a report that is valid until a state changes. To count a million dead letters takes about 50 ms.
type counted struct {
	changes int // value of Replays.changes
	report  Report
}

// foreignFacts has what decides about the outcomes of dead letters in other software.
type foreignFacts struct {
	failed        map[Key]bool // dead letters that failed again in other software, from the DLQ
	unheardBefore time.Time    // a dead letter that was put back before and has no outcome counts as unheard
}

// outcome returns the outcome of a dead letter. It never returns [decidedByOperator], but the outcome before the
// decision.
func (v foreignFacts) outcome(key Key, m entry) outcome {
	switch of := m.outcome(); {
	case of == underWay && m.has(foreign) && m.time().Before(v.unheardBefore):
		return unheard
	case of == decidedByOperator && m.has(foreign) && !v.failed[key]:
		return waitEnded
	case of == decidedByOperator && m.has(undone):
		return closed
	case of == decidedByOperator:
		return failedAgain
	default:
		return of
	}
}

// failures contains the failures of one replay in other software.
type failures struct {
	topic   kadm.TopicID // of the DLQ
	since   time.Time    // where the reading began
	next    map[int32]int64
	letters []deadletters.Letter // dead letters that failed, without content
}

// readFailures returns the dead letters that failed again in other software, from the DLQ, and whether other software
// has any dead letter of the replay. It reads what is new since the last call.
func (o *Replays) readFailures(ctx context.Context, replayID string) (failed []deadletters.Letter, some bool, err error) {
	since, some := o.table.ForeignSince(replayID)
	if !some {
		return nil, false, nil
	}
	topic, err := o.reader.Store.TopicID(ctx, o.reader.Store.Topics.DLQ)
	if err != nil {
		return nil, true, err
	}
	h := failures{topic: topic, since: since}
	if before := o.failures[replayID]; before != nil && before.topic == topic && !since.Before(before.since) {
		h = *before
	}
	h.next, err = o.reader.Failures(ctx, replayID, h.next, h.since, func(l *deadletters.Letter) {
		heard := *l
		heard.Key, heard.Content = slices.Clone(l.Key), nil
		h.letters = append(h.letters, heard)
	})
	if err != nil {
		return nil, true, err
	}
	o.failures[replayID] = &h
	return h.letters, true, nil
}

// applyFailures applies the failures to the table (see [Table.ApplyReported]) until restore is called. The states that
// are read next must follow the written states.
func (s *Table) applyFailures(reported []deadletters.Letter) (failed map[Key]bool, restore func()) {
	failed, before := map[Key]bool{}, map[Key]entry{}
	for i := range reported {
		key := KeyOf(reported[i].ID)
		if m, known := s.entries[key]; known && !failed[key] {
			before[key] = m
		}
		failed[key] = true
		s.ApplyReported(&reported[i])
	}
	return failed, func() { maps.Copy(s.entries, before) }
}

// ForeignSince returns the time from which the DLQ can report failures of a replay in other software, and whether other
// software has any of its dead letters.
func (s *Table) ForeignSince(replayID string) (since time.Time, has bool) {
	for _, m := range s.ofReplay(replayID) {
		switch at, of := m.time(), m.outcome(); {
		case !m.has(foreign):
		case of != underWay && of != sentElsewhere: // it may have died again before its state changed
			return time.Time{}, true
		case !has || at.Before(since):
			since, has = at, true
		}
	}
	return since, has
}

// report counts the dead letters of a replay.
func (s *Table) report(replayID string, v foreignFacts) Report {
	r := Report{ReplayID: replayID, Counts: Counts{Reasons: map[string]int{}}}
	for key, m := range s.ofReplay(replayID) {
		at := m.time()
		if at.After(r.Last) {
			r.Last = at
		}
		switch of := v.outcome(key, m); {
		case of == unheard:
			r.Unheard++
			if r.UnheardSince.IsZero() || at.Before(r.UnheardSince) {
				r.UnheardSince = at
			}
		case of == closedAsDuplicate:
			r.Duplicates++
			continue
		case of == sentElsewhere:
			r.Elsewhere++
		case of == waitEnded:
			r.Ended++
		case of == failedAgain && m.outcome() == decidedByOperator: // the reason in the state is the operator's
			r.FailedAgain++
		default:
			r.add(of, s.texts.list[m.reason], 1)
		}
		r.Attempted++
	}
	return r
}
