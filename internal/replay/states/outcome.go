package states

import (
	"iter"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// outcome is what became of a dead letter that a replay took, by its last state. It is a closed list.
type outcome uint8

const (
	underWay          outcome = iota // the consumer has not finished it
	reprocessed                      // the consumer delivered it
	failedAgain                      // and is pending
	failedOften                      // and is escalated by the consumer
	closed                           // by the consumer; nothing is left to do
	closedAsDuplicate                // not put back, because one with the same content was
	sentElsewhere                    // sent to another topic, whose reader does not report here
	decidedByOperator                // an operator has decided about it since
	unheard                          // other software has had it for long, without a report (see [foreignFacts])
	waitEnded                        // the same, and an operator stopped waiting for it
)

// outcomeOf returns the outcome of a dead letter with a last state. left reports whether the replay sent it to another
// topic.
func outcomeOf(last deadletters.Last, left bool) outcome {
	status := last.Status()
	switch operator := last.Writer() == deadletters.Operator; {
	case status == deadletters.Replaying:
		return underWay
	case operator && status == deadletters.Duplicate:
		return closedAsDuplicate
	case operator && left:
		return sentElsewhere
	case operator:
		return decidedByOperator
	case status == deadletters.Reprocessed:
		return reprocessed
	case status == deadletters.Pending:
		return failedAgain
	case status == deadletters.Escalated:
		return failedOften
	}
	return closed
}

// flags are facts about a dead letter and its last replay.
type flags uint8

const (
	foreign    flags = 1 << iota // other software made the dead letter, and only reports failures
	undone                       // the consumer closed it, and an operator reversed that
	positioned                   // an operator decided about one of its records, whose position is known
	reopened                     // a replay took and closed it, and an operator made it pending again
)

func (m entry) has(some flags) bool { return m.flags&some != 0 }

func (m entry) outcome() outcome { return outcomeOf(m.last, m.to != 0) }

// SentAny reports whether any dead letter was last sent to another topic.
func (s *Table) SentAny() bool {
	for _, m := range s.entries {
		if m.to != 0 {
			return true
		}
	}
	return false
}

// time returns when the dead letter changed last; zero if its state has no time.
func (m entry) time() time.Time {
	if m.at == 0 {
		return time.Time{}
	}
	return time.UnixMilli(m.at).UTC()
}

// entry returns the entry of a dead letter's next state, after the previous one.
func (s *Table) entry(prev entry, state deadletters.State) entry {
	m := entry{replay: s.texts.index(state.ReplayID), by: s.texts.index(state.By), to: s.texts.index(state.Destination), count: int32(state.ReprocessCount), last: deadletters.LastOf(state)}
	if !state.At.IsZero() {
		m.at = state.At.UnixMilli()
	}
	if deadletters.OfOtherSoftware(state.ID) {
		m.flags |= foreign
		if state.Writer == deadletters.Operator {
			m.flags |= positioned
			m.partition, m.offset = state.DLQ.Partition, state.DLQ.Offset
		}
	}
	if state.Status == deadletters.Pending && state.Before == deadletters.Discarded && state.ReplayID != "" {
		m.flags |= reopened
	}
	switch of := m.outcome(); {
	case of == failedAgain || of == failedOften:
		m.reason = s.texts.index(state.Reason)
	case state.Writer == deadletters.Operator && prev.replay == m.replay && (prev.has(undone) || prev.closedByConsumer()):
		m.flags |= undone
	}
	return m
}

// closedByConsumer reports whether the consumer closed the replay of the dead letter without an effect. An operator
// never reverses a duplicate.
func (m entry) closedByConsumer() bool {
	return m.outcome() == closed && m.last.Status() != deadletters.Duplicate
}

// ofReplay yields the dead letters whose last replay is this one, except those whose state cannot be read.
func (s *Table) ofReplay(id string) iter.Seq2[Key, entry] {
	broken := make(map[Key]bool, len(s.broken))
	for id := range s.broken {
		broken[KeyOf(id)] = true
	}
	replay, known := s.texts.indexes[id]
	return func(yield func(Key, entry) bool) {
		for key, m := range s.entries {
			if known && m.replay == replay && !broken[key] && !yield(key, m) {
				return
			}
		}
	}
}

// Taken counts the dead letters whose last replay is this one, and how many of them it closed as duplicates.
func (s *Table) Taken(replayID string) (all, duplicates int) {
	for _, m := range s.ofReplay(replayID) {
		all++
		if m.outcome() == closedAsDuplicate {
			duplicates++
		}
	}
	return all, duplicates
}

// Earlier describes the dead letters of a replay that earlier calls put back.
type Earlier struct {
	UnderWay     int         // without an outcome
	Foreign      int         // of these: in other software
	ForeignSince time.Time   // when the first of those was put back
	Failed       map[Key]int // failed again, with their number of replays
}

// Earlier returns what earlier calls of a replay put back. Without a pipeline, a dead letter that was sent to another
// topic has no outcome, because only dying again is reported.
func (s *Table) Earlier(replayID string) Earlier {
	out := Earlier{Failed: map[Key]int{}}
	for key, m := range s.ofReplay(replayID) {
		of := m.outcome()
		if of == sentElsewhere && s.elsewhere {
			of = underWay
		}
		switch of {
		case underWay:
			out.UnderWay++
			if at := m.time(); m.has(foreign) {
				if out.Foreign == 0 || at.Before(out.ForeignSince) {
					out.ForeignSince = at
				}
				out.Foreign++
			}
		case failedAgain:
			out.Failed[key] = int(m.count)
		default:
		}
	}
	return out
}

// Reopened reports whether a replay took and closed a dead letter, and an operator made it pending again.
func (s *Table) Reopened(id string) bool { return s.entries[KeyOf(id)].has(reopened) }

// All yields the status of every dead letter and the time of its last change.
func (s *Table) All() iter.Seq2[Key, deadletters.State] {
	return func(yield func(Key, deadletters.State) bool) {
		for key, m := range s.entries {
			if !yield(key, deadletters.State{Status: m.last.Status(), At: m.time()}) {
				return
			}
		}
	}
}
