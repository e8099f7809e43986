package replay

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
	Letters []LetterOutcome `json:"letters"`
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

// outcomes returns the page of a query. The standing must include the failures in v.
func (o *Replays) outcomes(r Report, v verdicts, q OutcomeQuery) LetterOutcomes {
	out := LetterOutcomes{Letters: []LetterOutcome{}, Total: r.results()[q.Result]}
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

// results returns the number of dead letters by result, and of all under "".
func (r *Report) results() map[LetterResult]int {
	return map[LetterResult]int{
		"": r.Attempted + r.Duplicates, LetterWaiting: r.UnderWay + r.Unheard, LetterReprocessed: r.Reprocessed, LetterFailedAgain: r.FailedAgain,
		LetterSkipped: r.Closed + r.Duplicates + r.Ended, LetterElsewhere: r.Elsewhere,
	}
}

// outcome returns what became of a dead letter. ok is false if its last replay is another one, or its state is
// unreadable.
func (o *Replays) outcome(id, replayID string, v verdicts) (out LetterOutcome, ok bool) {
	s, key := o.standing, keyOf(id)
	m, known := s.marks[key]
	if _, broken := s.broken[id]; broken || !known || s.words.list[m.replay] != replayID {
		return out, false
	}
	out = LetterOutcome{ID: id, At: m.time()}
	if reason, noted := o.reasons[key]; noted {
		out.Why = s.words.list[reason]
	}
	switch m.fate() {
	case fateFailedAgain, fateFailedOften:
		out.Why = s.words.list[m.reason]
	case fateDecided:
		out.Why = fmt.Sprintf("%s by an operator since: %s", m.last.Status(), out.Why)
	default:
	}
	switch v.of(key, m) {
	case fateUnderWay:
		out.Result = LetterWaiting
	case fateUnheard:
		out.Result, out.Why = LetterWaiting, "other software has it and does not report successes"
	case fateReprocessed:
		out.Result = LetterReprocessed
	case fateFailedAgain, fateFailedOften:
		out.Result = LetterFailedAgain
	case fateElsewhere:
		out.Result, out.Why = LetterElsewhere, "to "+s.words.list[m.to]
	case fateClosed, fateAsDuplicate, fateEnded, fateDecided:
		out.Result = LetterSkipped
	}
	return out, true
}

// take processes one record of the status topic. It notes the replay of its dead letter and why the letter is closed.
func (o *Replays) take(r *deadletters.StateRecord) {
	o.changes++
	s, key := o.standing, keyOf(r.ID)
	before, known := s.marks[key]
	s.add(r)
	m, has := s.marks[key]
	if has && known && m == before { // the record does not count
		return
	}
	delete(o.reasons, key)
	if !has || r.State.ReplayID == "" {
		return
	}
	switch m.fate() {
	case fateAsDuplicate, fateClosed, fateDecided:
		o.reasons[key] = s.words.of(r.State.Reason)
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
	list.places = append(list.places, o.ids.add(r.ID, 0))
}

// members contains the dead letters that a replay took, including those that a later replay took since.
type members struct {
	places []uint32 // of their IDs in an idList
	sorted int      // number of places in the order of the IDs, without duplicates; the others are new
}

// sort merges the new places into the order, so that a few new dead letters do not cost a sort of a million.
func (m *members) sort(ids *idList) {
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
func (m *members) after(id string, ids *idList) iter.Seq[string] {
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
