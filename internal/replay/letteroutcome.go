package replay

import (
	"fmt"
	"slices"
	"strings"
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
func (o *Overview) outcomes(r Report, v verdicts, q OutcomeQuery) LetterOutcomes {
	out := LetterOutcomes{Letters: []LetterOutcome{}, Total: r.results()[q.Result]}
	if q.Limit == 0 {
		return out
	}
	keep := q.Limit + 1 // the last one tells whether there is a next page
	for key, m := range o.standing.ofReplay(r.ReplayID) {
		letter, fate := LetterOutcome{ID: string(o.ids.id(o.taken[key].place)), At: m.time()}, v.of(key, m)
		if letter.Result = resultOf(fate); letter.ID <= q.After || q.Result != "" && letter.Result != q.Result {
			continue
		}
		letter.Why = o.why(key, m, fate)
		if out.Letters = append(out.Letters, letter); len(out.Letters) == 2*keep {
			out.Letters = firstByID(out.Letters, keep)
		}
	}
	if out.Letters = firstByID(out.Letters, keep); len(out.Letters) == keep {
		out.Letters = out.Letters[:q.Limit]
		out.Next = out.Letters[q.Limit-1].ID
	}
	return out
}

// firstByID returns the first n dead letters in the order of their IDs.
func firstByID(letters []LetterOutcome, n int) []LetterOutcome {
	slices.SortFunc(letters, func(a, b LetterOutcome) int { return strings.Compare(a.ID, b.ID) })
	return letters[:min(len(letters), n)]
}

// results returns the number of dead letters by result, and of all under "".
func (r *Report) results() map[LetterResult]int {
	return map[LetterResult]int{
		"": r.Attempted + r.Duplicates, LetterWaiting: r.UnderWay + r.Unheard, LetterReprocessed: r.Reprocessed, LetterFailedAgain: r.FailedAgain,
		LetterSkipped: r.Closed + r.Duplicates + r.Ended, LetterElsewhere: r.Elsewhere,
	}
}

// resultOf returns the result of a dead letter with a fate.
func resultOf(of fate) LetterResult {
	switch of {
	case fateUnderWay, fateUnheard:
		return LetterWaiting
	case fateReprocessed:
		return LetterReprocessed
	case fateFailedAgain, fateFailedOften:
		return LetterFailedAgain
	case fateElsewhere:
		return LetterElsewhere
	case fateClosed, fateAsDuplicate, fateEnded, fateDecided:
	}
	return LetterSkipped
}

// why explains the fate of a dead letter.
func (o *Overview) why(key idKey, m mark, of fate) string {
	words := o.standing.words.list
	switch last := m.fate(); {
	case of == fateUnheard:
		return "other software has it and does not report successes"
	case of == fateElsewhere:
		return "to " + words[m.to]
	case last == fateFailedAgain || last == fateFailedOften:
		return words[m.reason]
	case last == fateDecided:
		return fmt.Sprintf("%s by an operator since: %s", m.last.Status(), words[o.taken[key].reason])
	}
	return words[o.taken[key].reason]
}

// taken is a dead letter that a replay took.
type taken struct {
	place  uint32 // of its ID in Overview.ids
	reason uint32 // why it is closed: index in the words of the standing
}

// take processes one record of the status topic. It notes the ID of a dead letter that a replay took, and why the letter
// is closed.
func (o *Overview) take(r *deadletters.StateRecord) {
	s, key := o.standing, keyOf(r.ID)
	before, known := s.marks[key]
	s.add(r)
	m, has := s.marks[key]
	if has && known && m == before { // the record does not count
		return
	}
	letter, listed := o.taken[key]
	if letter.reason = 0; has && r.State.ReplayID != "" {
		if !listed {
			letter.place, listed = o.ids.add(r.ID, 0), true
		}
		switch m.fate() {
		case fateAsDuplicate, fateClosed, fateDecided:
			letter.reason = s.words.of(r.State.Reason)
		default:
		}
	}
	if listed {
		o.taken[key] = letter
	}
}
