package replay

import (
	"iter"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// fate is the outcome of a dead letter that a replay took, by its last state. It is a closed list. Everything that
// counts outcomes counts fates.
type fate uint8

const (
	fateUnderWay    fate = iota // the consumer has not finished it
	fateReprocessed             // the consumer delivered it
	fateFailedAgain             // and is pending
	fateFailedOften             // and is escalated by the consumer
	fateClosed                  // by the consumer; nothing is left to do
	fateAsDuplicate             // not put back, because one with the same content was
	fateElsewhere               // sent to another topic, whose reader does not report here
	fateDecided                 // an operator has decided about it since
	fateUnheard                 // other software has had it for long, without a report (see [verdicts])
	fateEnded                   // the same, and an operator stopped waiting for it
)

// fateOf returns the fate of a dead letter with a last state. left reports whether the replay sent it to another
// topic.
func fateOf(last deadletters.Last, left bool) fate {
	status := last.Status()
	switch operator := last.Writer() == deadletters.Operator; {
	case status == deadletters.Replaying:
		return fateUnderWay
	case operator && status == deadletters.Duplicate:
		return fateAsDuplicate
	case operator && left:
		return fateElsewhere
	case operator:
		return fateDecided
	case status == deadletters.Reprocessed:
		return fateReprocessed
	case status == deadletters.Pending:
		return fateFailedAgain
	case status == deadletters.Escalated:
		return fateFailedOften
	}
	return fateClosed
}

// marks are facts about a dead letter and its last replay.
type marks uint8

const (
	theirs   marks = 1 << iota // other software made the dead letter, and only reports failures
	undone                     // the consumer closed it, and an operator reversed that
	looked                     // an operator decided about one of its records, whose position is known
	reopened                   // a replay took and closed it, and an operator made it pending again
)

func (m mark) has(some marks) bool { return m.marked&some != 0 }

func (m mark) fate() fate { return fateOf(m.last, m.to != 0) }

// sentAny reports whether any dead letter was last sent to another topic.
func (s *standing) sentAny() bool {
	for _, m := range s.marks {
		if m.to != 0 {
			return true
		}
	}
	return false
}

// time returns when the dead letter changed last; zero if its state has no time.
func (m mark) time() time.Time {
	if m.at == 0 {
		return time.Time{}
	}
	return time.UnixMilli(m.at).UTC()
}

// mark returns what is stored of a dead letter's next state, after the previous one.
func (s *standing) mark(prev mark, state deadletters.State) mark {
	m := mark{replay: s.words.of(state.ReplayID), by: s.words.of(state.By), to: s.words.of(state.Destination), count: int32(state.ReprocessCount), last: deadletters.LastOf(state)}
	if !state.At.IsZero() {
		m.at = state.At.UnixMilli()
	}
	if deadletters.OfOtherSoftware(state.ID) {
		m.marked |= theirs
		if state.Writer == deadletters.Operator {
			m.marked |= looked
			m.partition, m.offset = state.DLQ.Partition, state.DLQ.Offset
		}
	}
	if state.Status == deadletters.Pending && state.Before == deadletters.Discarded && state.ReplayID != "" {
		m.marked |= reopened
	}
	switch of := m.fate(); {
	case of == fateFailedAgain || of == fateFailedOften:
		m.reason = s.words.of(state.Reason)
	case state.Writer == deadletters.Operator && prev.replay == m.replay && (prev.has(undone) || prev.closedByConsumer()):
		m.marked |= undone
	}
	return m
}

// closedByConsumer reports whether the consumer closed the replay of the dead letter without an effect. An operator
// never reverses a duplicate.
func (m mark) closedByConsumer() bool {
	return m.fate() == fateClosed && m.last.Status() != deadletters.Duplicate
}

// ofReplay yields the dead letters whose last replay is this one, except those whose state cannot be read.
func (s *standing) ofReplay(id string) iter.Seq2[idKey, mark] {
	broken := make(map[idKey]bool, len(s.broken))
	for id := range s.broken {
		broken[keyOf(id)] = true
	}
	replay, known := s.words.index[id]
	return func(yield func(idKey, mark) bool) {
		for key, m := range s.marks {
			if known && m.replay == replay && !broken[key] && !yield(key, m) {
				return
			}
		}
	}
}

// taken counts the dead letters whose last replay is this one.
func (s *standing) taken(replayID string) int {
	n := 0
	for range s.ofReplay(replayID) {
		n++
	}
	return n
}

// Earlier describes the dead letters of a replay that earlier calls put back.
type Earlier struct {
	UnderWay     int           // without an outcome
	Foreign      int           // of these: in other software
	ForeignSince time.Time     // when the first of those was put back
	Failed       map[idKey]int // failed again, with their number of replays
}

// Earlier returns what earlier calls of a replay put back. Without a pipeline, a dead letter that was sent to another
// topic has no outcome, because only dying again is reported.
func (s *standing) Earlier(replayID string) Earlier {
	out := Earlier{Failed: map[idKey]int{}}
	for key, m := range s.ofReplay(replayID) {
		of := m.fate()
		if of == fateElsewhere && s.elsewhere {
			of = fateUnderWay
		}
		switch of {
		case fateUnderWay:
			out.UnderWay++
			if at := m.time(); m.has(theirs) {
				if out.Foreign == 0 || at.Before(out.ForeignSince) {
					out.ForeignSince = at
				}
				out.Foreign++
			}
		case fateFailedAgain:
			out.Failed[key] = int(m.count)
		default:
		}
	}
	return out
}

// Reopened reports whether a replay took and closed a dead letter, and an operator made it pending again.
func (s *standing) Reopened(id string) bool { return s.marks[keyOf(id)].has(reopened) }

// All yields the status of every dead letter and the time of its last change.
func (s *standing) All() iter.Seq2[idKey, deadletters.State] {
	return func(yield func(idKey, deadletters.State) bool) {
		for key, m := range s.marks {
			if !yield(key, deadletters.State{Status: m.last.Status(), At: m.time()}) {
				return
			}
		}
	}
}
