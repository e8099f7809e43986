package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Result says what a replay did. After an error it counts what had been committed by then.
type Result struct {
	ReplayID   string `json:"replay_id"`
	Attempted  int    `json:"attempted"`  // letters of the plan
	Reinjected int    `json:"reinjected"` // put back
	Already    int    `json:"already"`    // put back by an earlier call with the same plan, or just before the broker was lost
	Duplicates int    `json:"duplicates"` // closed, since a letter of the same content is put back
	Untouched
	NotReached   int      `json:"not_reached,omitzero"` // not looked at, since the replay stopped before
	Transactions int      `json:"transactions"`         // committed
	Outcome      *Outcome `json:"outcome,omitempty"`
}

// Outcome is what became of letters that were put back, as the consumer says (S4-8).
type Outcome struct {
	Reprocessed int `json:"reprocessed"`
	FailedAgain int `json:"failed_again"` // pending again, or escalated
	Escalated   int `json:"escalated"`    // of those that failed again: too often
	Closed      int `json:"closed"`       // duplicate, superseded or filtered: nothing is left to do
	// Consumed counts letters of a DLQ without a pipeline that a watched group has committed beyond, and that did not die again within the grace.
	Consumed int            `json:"consumed,omitzero"`
	UnderWay int            `json:"under_way"` // the consumer has not finished them
	Reasons  map[string]int `json:"reasons,omitempty"`
}

// Finished counts the letters that are not under way.
func (o *Outcome) Finished() int { return o.Reprocessed + o.FailedAgain + o.Closed }

// Phase says what a replay is doing. It is a closed list (see [Phases]).
type Phase string

// The phases.
const (
	Sending Phase = "sending" // letters go back
	Gating  Phase = "gating"  // the consumer's verdict on a wave is awaited
	Waiting Phase = "waiting" // all are sent; the consumer has not finished them
	Broker  Phase = "broker"  // the broker is lost and awaited
)

// Progress is how far a replay is.
type Progress struct {
	Phase    Phase
	Letters  int // of the plan
	Settled  int // of them: put back, closed or left
	Sent     int // put back, by this call or before
	Wave     int // number of the wave, from 1
	WaveSize int // 0 when all that is left goes at once
	Outcome  Outcome
	Watched  *Watched // of a DLQ without a pipeline while a wave is awaited; nil otherwise
	Err      error    // for Broker: what is wrong
}

// Watched is what a wave of a DLQ without a pipeline still waits for.
type Watched struct {
	Group  string        // the consumer group that has to pass it; "" is none
	Behind int64         // offsets that the group has before it; negative before the first look
	Grace  time.Duration // how long to look still whether any dies again
}

// StopError says why a replay stopped by itself. What was put back stays; applied again, the same plan goes on with
// what is left and retries what failed.
type StopError struct {
	Wave     int            // number of the wave that was looked at; 0 is what an earlier call put back
	Size     int            // letters of that wave
	Finished int            // of them
	Failed   int            // of those finished
	Limit    float64        // share that may fail
	Others   int            // letters of that wave that other software has, which only tells what fails again
	Group    string         // the watched consumer group that had not passed the wave
	Behind   int64          // offsets that it had before it
	Patience string         // set when the consumer finished none for so long
	Reasons  map[string]int // of the failures
}

// Error says which limit was passed, by how much, and what to do.
func (e *StopError) Error() string {
	if e.Group != "" {
		return fmt.Sprintf("stopped: group %s has %d offsets before it until it has passed the %d dead letters of %s, and committed nothing for %s; is it running? What was sent stays, the rest was not",
			e.Group, e.Behind, e.Size, e.wave(), e.Patience)
	}
	if e.Patience != "" {
		theirs := ""
		if e.Others > 0 {
			theirs = fmt.Sprintf(" %d of them are with other software, which only tells what fails again.", e.Others)
		}
		return fmt.Sprintf("stopped: the consumer finished %d of the %d dead letters of %s and none for %s; is it running?%s",
			e.Finished, e.Size, e.wave(), e.Patience, theirs)
	}
	return fmt.Sprintf("stopped: %d of the %d dead letters of %s failed again (%s); %.4g %% may (--max-failed); what is left was not sent",
		e.Failed, e.Size, e.wave(), reasonsText(e.Reasons), e.Limit*100)
}

// wave names the wave; the first thing that is judged is what was put back before.
func (e *StopError) wave() string {
	if e.Wave == 0 {
		return "an earlier call of this replay"
	}
	return fmt.Sprintf("wave %d", e.Wave)
}

// Skip is a letter that was not touched.
type Skip struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// maxSkips bounds how many letters a result names; all are counted, and OnSkip hears of each.
const maxSkips = 1000

// LeftBy counts letters that were left for one reason. Reasons that differ only in numbers, times and ids are one.
type LeftBy struct {
	Why     string `json:"why"` // of the example, in its words
	Count   int    `json:"count"`
	Example string `json:"example"` // id of the first; "" when its record is gone
	kind    string
}

// maxReasons bounds the reasons that are told apart; the rest is counted under [otherReasons].
const maxReasons = 50

const otherReasons = "other reasons"

// Untouched counts the letters that an operation left as they are.
type Untouched struct {
	Left    int      `json:"left"`
	Skipped []Skip   `json:"skipped"` // the first 1000 of them, each with the reason
	LeftBy  []LeftBy `json:"left_by"` // by reason, the most first
}

// skip counts a letter.
func (u *Untouched) skip(s Skip) {
	u.Left++
	if len(u.Skipped) < maxSkips {
		u.Skipped = append(u.Skipped, s)
	}
	kind := deadletters.Normalise(s.Why)
	if i := slices.IndexFunc(u.LeftBy, func(l LeftBy) bool { return l.kind == kind }); i >= 0 {
		u.LeftBy[i].Count++
		return
	}
	if len(u.LeftBy) < maxReasons {
		u.LeftBy = append(u.LeftBy, LeftBy{Why: s.Why, Count: 1, Example: s.ID, kind: kind})
		return
	}
	if last := &u.LeftBy[len(u.LeftBy)-1]; last.kind == otherReasons {
		last.Count++
		return
	}
	u.LeftBy = append(u.LeftBy, LeftBy{Why: otherReasons, Count: 1, Example: s.ID, kind: otherReasons})
}

// sorted returns the reasons with the most letters first.
func (u *Untouched) sorted() Untouched {
	out := *u
	out.LeftBy = slices.Clone(u.LeftBy)
	slices.SortStableFunc(out.LeftBy, func(a, b LeftBy) int { return cmp.Compare(b.Count, a.Count) })
	return out
}
