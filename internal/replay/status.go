package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

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
}

// Status says how far a replay is, from the states of its letters. The error is [ErrNoReplay] when no letter
// has its id.
func (s *Service) Status(ctx context.Context, replayID string) (Report, error) {
	spans, err := kafka.Spans(ctx, s.client, s.cfg.Topics.DLQStatus)
	if err != nil {
		return Report{}, err
	}
	t := statusTable{replayID: replayID, letters: map[idKey]deadletters.State{}, failed: map[idKey]bool{}, closed: map[idKey]bool{}}
	err = deadletters.ScanStates(ctx, s.client, s.cfg.Topics.DLQStatus, spans, func(r *deadletters.StateRecord) error {
		t.add(r)
		return nil
	})
	if err != nil {
		return Report{}, err
	}
	if since, theirs := t.theirs(); theirs {
		_, err = s.listen(ctx, replayID, nil, since, func(l *deadletters.Letter) { t.hear(l, s.cfg.DeadLetters.MaxReplays) })
		if err != nil {
			return Report{}, err
		}
	}
	status := t.status(s.now().Add(-s.cfg.DeadLetters.UnheardAfter.Std()))
	if status.Last.IsZero() {
		return status, fmt.Errorf("%w: no dead letter in %s has the replay id %s; replayer audit lists replays", ErrNoReplay, s.cfg.Topics.DLQStatus, replayID)
	}
	return status, nil
}

// statusTable holds the last states of the letters of one replay. One that has left it since has a state without a replay id: no
// outcome of the replay counts for it any more (see [deadletters.Follow]).
type statusTable struct {
	replayID string
	letters  map[idKey]deadletters.State
	failed   map[idKey]bool // letters of other software that the DLQ says failed again in this replay
	closed   map[idKey]bool // letters that an operator took back after the consumer had closed them
}

// theirs says from when on the DLQ may tell what of the replay failed in other software, and whether that has any of it.
func (t *statusTable) theirs() (since time.Time, has bool) {
	for _, state := range t.letters {
		switch {
		case state.ReplayID != t.replayID, !deadletters.OfOtherSoftware(state.ID):
		case state.Status != deadletters.Replaying: // it can have died again before its state changed
			return time.Time{}, true
		case !has || state.At.Before(since):
			since, has = state.At, true
		}
	}
	return since, has
}

// hear takes over that a letter failed again in other software.
func (t *statusTable) hear(l *deadletters.Letter, mostReplays int) {
	key := keyOf(l.ID)
	if state, ok := t.letters[key]; ok && state.ReplayID == t.replayID {
		t.failed[key] = true
		t.letters[key] = deadletters.ExternalOutcome(l, state, mostReplays)
	}
}

func (t *statusTable) add(r *deadletters.StateRecord) {
	if r.ChainHead != nil {
		return
	}
	key, state := keyOf(r.ID), r.State
	prev, known := t.letters[key]
	switch {
	case r.Removed, r.Err != nil:
		delete(t.letters, key)
		return
	case state.ReplayID != t.replayID:
		if known {
			t.letters[key] = deadletters.State{}
		}
		return
	case deadletters.Follow(prev, known, state) != deadletters.Applies:
		return
	}
	// What is counted is small; the rest of a state would only take room.
	small := deadletters.State{Status: state.Status, At: state.At, Reason: state.Reason, DLQ: state.DLQ, Writer: state.Writer, ReplayID: t.replayID, Destination: state.Destination}
	if deadletters.OfOtherSoftware(state.ID) {
		small.ID = state.ID
	}
	switch {
	case small.Writer == deadletters.Consumer:
		delete(t.closed, key)
	case closedByConsumer(prev):
		t.closed[key] = true
	}
	t.letters[key] = small
}

// closedByConsumer says whether a replay of a letter ended in that there was nothing to do.
func closedByConsumer(s deadletters.State) bool {
	return s.Writer == deadletters.Consumer && (s.Status == deadletters.Superseded || s.Status == deadletters.Discarded)
}

// status counts. Letters of other software that were put back before a time, and of which nothing was heard, are told
// apart.
func (t *statusTable) status(heardSince time.Time) Report {
	s := Report{ReplayID: t.replayID, Outcome: Outcome{Reasons: map[string]int{}}}
	for key, state := range t.letters {
		if state.ReplayID != t.replayID {
			continue
		}
		if state.At.After(s.Last) {
			s.Last = state.At
		}
		operator, theirs := state.Writer == deadletters.Operator, deadletters.OfOtherSoftware(state.ID)
		switch {
		case theirs && state.Status == deadletters.Replaying && state.At.Before(heardSince):
			s.Unheard++
			if s.UnheardSince.IsZero() || state.At.Before(s.UnheardSince) {
				s.UnheardSince = state.At
			}
		case state.Status == deadletters.Replaying:
			s.UnderWay++
		case operator && state.Status == deadletters.Duplicate:
			s.Duplicates++
			continue
		case operator && state.Destination != "":
			s.Elsewhere++
		case operator && theirs && !t.failed[key]:
			s.Ended++
		case operator && t.closed[key]:
			s.Closed++
		case operator: // it failed again, and somebody decided about it since
			s.FailedAgain++
		default:
			s.add(state)
		}
		s.Attempted++
	}
	return s
}

// Await looks at a replay until the consumer has finished all of its letters, and tells how far it is. Letters of other
// software are waited for until they count as not heard of.
func (s *Service) Await(ctx context.Context, replayID string, tell func(Report)) (Report, error) {
	for {
		status, err := s.Status(ctx, replayID)
		if err != nil {
			return status, err
		}
		if tell != nil {
			tell(status)
		}
		if status.UnderWay == 0 {
			return status, nil
		}
		if err := kafka.Pause(ctx, time.Second); err != nil {
			return status, fmt.Errorf("stopped while the consumer had %d dead letters to finish: %w", status.UnderWay, err)
		}
	}
}
