package states

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// LetterResult is what became of one dead letter of a replay. It is a closed list (see [LetterResults]).
type LetterResult string

// The results.
const (
	LetterWaiting     LetterResult = "waiting" // no outcome yet
	LetterReprocessed LetterResult = "reprocessed"
	LetterFailedAgain LetterResult = "failed_again"
	LetterSkipped     LetterResult = "skipped"        // closed without an effect: duplicate, superseded, filtered, or an operator ended the wait
	LetterElsewhere   LetterResult = "sent_elsewhere" // sent to a topic outside the pipeline, which reports no outcome
)

// LetterResults returns all results.
func LetterResults() []LetterResult {
	return []LetterResult{LetterWaiting, LetterReprocessed, LetterFailedAgain, LetterSkipped, LetterElsewhere}
}

// LetterOutcome is what became of one dead letter of a replay.
type LetterOutcome struct {
	ID     string       `json:"id"`
	Result LetterResult `json:"outcome"`
	Why    string       `json:"why,omitempty"` // reason in its state
	At     time.Time    `json:"at"`            // when its state last changed
}

// LetterOutcomes is a page of the dead letters of a replay.
type LetterOutcomes struct {
	Letters []LetterOutcome `json:"dead_letters"`
	Total   int             `json:"total"`          // dead letters that the query selects, on all pages
	Next    string          `json:"next,omitempty"` // After of the next page; absent on the last page
}

// OutcomeQuery selects dead letters of a replay. They are ordered by ID, so that changing states neither repeat nor
// hide one across pages.
type OutcomeQuery struct {
	Result LetterResult // "" is any
	After  string       // Next of the previous page
	Limit  int          // 0 only counts
}

// outcomes returns the page of a query. The table must include the failures in v.
func (o *Replays) outcomes(r Report, v foreignFacts, q OutcomeQuery) LetterOutcomes {
	out := LetterOutcomes{Letters: []LetterOutcome{}, Total: r.Results()[q.Result]}
	if q.Limit == 0 {
		return out
	}
	for id := range o.members[r.ReplayID].after(q.After, &o.ids) {
		letter, ok := o.outcome(id, r.ReplayID, v)
		if !ok || q.Result != "" && letter.Result != q.Result {
			continue
		}
		if len(out.Letters) == q.Limit {
			out.Next = out.Letters[q.Limit-1].ID
			break
		}
		out.Letters = append(out.Letters, letter)
	}
	return out
}

// Results returns the number of dead letters by result, and of all under "".
func (r *Report) Results() map[LetterResult]int {
	return map[LetterResult]int{
		"": r.Attempted + r.Duplicates, LetterWaiting: r.UnderWay + r.Unheard, LetterReprocessed: r.Reprocessed, LetterFailedAgain: r.FailedAgain,
		LetterSkipped: r.Closed + r.Duplicates + r.Ended, LetterElsewhere: r.Elsewhere,
	}
}

// outcome returns what became of a dead letter. ok is false if its last replay is another one, or its state is
// unreadable.
func (o *Replays) outcome(id, replayID string, v foreignFacts) (out LetterOutcome, ok bool) {
	s, key := o.table, KeyOf(id)
	m, known := s.entries[key]
	if _, broken := s.broken[id]; broken || !known || s.texts.list[m.replay] != replayID {
		return out, false
	}
	out = LetterOutcome{ID: id, At: m.time()}
	if reason, noted := o.reasons[key]; noted {
		out.Why = s.texts.list[reason]
	}
	switch m.outcome() {
	case failedAgain, failedOften:
		out.Why = s.texts.list[m.reason]
	case decidedByOperator:
		out.Why = fmt.Sprintf("%s by an operator since: %s", m.last.Status(), out.Why)
	default:
	}
	switch v.outcome(key, m) {
	case underWay:
		out.Result = LetterWaiting
	case unheard:
		out.Result, out.Why = LetterWaiting, "other software has it and does not report successes"
	case reprocessed:
		out.Result = LetterReprocessed
	case failedAgain, failedOften:
		out.Result = LetterFailedAgain
	case sentElsewhere:
		out.Result, out.Why = LetterElsewhere, "to "+s.texts.list[m.to]
	case closed, closedAsDuplicate, waitEnded, decidedByOperator:
		out.Result = LetterSkipped
	}
	return out, true
}

// take processes one record of the status topic. It stores the replay of its dead letter and why the dead letter is
// closed.
func (o *Replays) take(r *deadletters.StateRecord) {
	o.changes++
	s, key := o.table, KeyOf(r.ID)
	before, known := s.entries[key]
	s.add(r)
	m, has := s.entries[key]
	if has && known && m == before { // the record does not count
		return
	}
	delete(o.reasons, key)
	if !has || r.State.ReplayID == "" {
		return
	}
	switch m.outcome() {
	case closedAsDuplicate, closed, decidedByOperator:
		o.reasons[key] = s.texts.index(r.State.Reason)
	default:
	}
	if known && before.replay == m.replay {
		return
	}
	list := o.members[r.State.ReplayID]
	if list == nil {
		list = &members{}
		o.members[r.State.ReplayID] = list
	}
	list.places = append(list.places, o.ids.Add(r.ID, 0))
}

// members contains the dead letters that a replay took, including those that a later replay took since.
type members struct {
	places []uint32 // of their IDs in an [IDList]
	sorted int      // number of places in the order of the IDs, without duplicates; the others are new
}

// sort merges the new places into the order, so that a few new dead letters do not cost a sort of a million.
func (m *members) sort(ids *IDList) {
	if m.sorted == len(m.places) {
		return
	}
	byID := func(a, b uint32) int { return bytes.Compare(ids.id(a), ids.id(b)) }
	before, since := m.places[:m.sorted], m.places[m.sorted:]
	slices.SortFunc(since, byID)
	merged := make([]uint32, 0, len(m.places))
	for len(before) > 0 && len(since) > 0 {
		from := &before
		if byID(since[0], before[0]) < 0 {
			from = &since
		}
		merged = append(merged, (*from)[0])
		*from = (*from)[1:]
	}
	merged = append(append(merged, before...), since...)
	m.places = slices.CompactFunc(merged, func(a, b uint32) bool { return byID(a, b) == 0 })
	m.sorted = len(m.places)
}

// after yields the IDs after one, in order.
func (m *members) after(id string, ids *IDList) iter.Seq[string] {
	return func(yield func(string) bool) {
		if m == nil {
			return
		}
		m.sort(ids)
		from, found := slices.BinarySearchFunc(m.places, []byte(id), func(place uint32, id []byte) int { return bytes.Compare(ids.id(place), id) })
		if found {
			from++
		}
		for _, place := range m.places[from:] {
			if !yield(string(ids.id(place))) {
				return
			}
		}
	}
}
