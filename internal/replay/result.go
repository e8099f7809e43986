package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/states"
)

// Result counts what a replay did. After an error, it counts the committed changes.
type Result struct {
	ReplayID   string `json:"replay_id"`
	Attempted  int    `json:"attempted"`  // dead letters in the plan
	Reinjected int    `json:"reinjected"` // put back
	Already    int    `json:"already"`    // put back by an earlier call with the same plan, or just before the broker was lost
	Duplicates int    `json:"duplicates"` // closed because a dead letter of the same content was put back
	Untouched
	NotReached   int            `json:"not_reached,omitzero"` // not reached because the replay stopped
	Transactions int            `json:"transactions"`         // committed
	Outcome      *states.Counts `json:"outcome,omitempty"`
}

// Phase is the phase of a replay. It is a closed list (see [Phases]).
type Phase string

// The phases.
const (
	Sending Phase = "sending" // putting dead letters back
	Gating  Phase = "gating"  // waiting for the consumer's verdict on a wave
	Waiting Phase = "waiting" // all dead letters are sent; waiting for the consumer
	Broker  Phase = "broker"  // the broker is lost; waiting for it
)

// Progress is the progress of a replay.
type Progress struct {
	Phase    Phase
	Letters  int // in the plan
	Settled  int // of these: put back, closed or left
	Sent     int // put back, by this call or before
	Wave     int // number of the wave, from 1
	WaveSize int // 0 if the wave is all the remaining dead letters
	Outcome  states.Counts
	Watched  *Watched // for a DLQ without a pipeline while the replay waits for a wave; nil otherwise
	Err      error    // for Broker: why the broker is lost
}

// Watched is what a wave of a DLQ without a pipeline waits for.
type Watched struct {
	Group  string        // consumer group that must pass the wave; "" is none
	Behind int64         // offsets that the group has left; negative before the first look
	Grace  time.Duration // remaining time in which nothing may die again
}

// StopError reports why a replay stopped itself. Records that it put back stay. Another run with the same plan
// continues with the remaining dead letters and retries the failed ones.
type StopError struct {
	Wave     int            // number of the judged wave; 0 is what an earlier call put back
	Size     int            // dead letters in the wave
	Finished int            // finished dead letters of the wave
	Failed   int            // finished dead letters that failed again
	Limit    float64        // share that may fail
	Others   int            // dead letters of the wave in other software, which reports failures only
	Group    string         // watched consumer group that did not pass the wave
	Behind   int64          // offsets that the group had left
	Patience string         // set if the consumer finished nothing for this long
	Reasons  map[string]int // failures by reason
}

// Error says which limit was exceeded, by how much, and what to do.
func (e *StopError) Error() string {
	if e.Group != "" {
		return fmt.Sprintf("stopped: group %s has to read %d more offsets to pass the %d dead letters of %s, and has committed nothing for %s; is it running? What was sent stays; the rest was not sent",
			e.Group, e.Behind, e.Size, e.wave(), e.Patience)
	}
	if e.Patience != "" {
		theirs := ""
		if e.Others > 0 {
			theirs = fmt.Sprintf(" %d of them are in other software, which reports only failures.", e.Others)
		}
		return fmt.Sprintf("stopped: the consumer finished %d of the %d dead letters of %s and has finished none for %s; is it running?%s",
			e.Finished, e.Size, e.wave(), e.Patience, theirs)
	}
	return fmt.Sprintf("stopped: %d of the %d dead letters of %s failed again (%s); the limit is %.4g %% (--max-failed); the rest was not sent",
		e.Failed, e.Size, e.wave(), reasonsText(e.Reasons), e.Limit*100)
}

// wave names the wave. The first one judged is what an earlier call put back.
func (e *StopError) wave() string {
	if e.Wave == 0 {
		return "an earlier call of this replay"
	}
	return fmt.Sprintf("wave %d", e.Wave)
}

// Skip is a dead letter that was left unchanged.
type Skip struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// maxSkips bounds the dead letters that a result names. The result counts all of them, and OnSkip is called for each.
const maxSkips = 1000

// LeftBy counts the dead letters that were left for one reason. Reasons that differ only in numbers, times and IDs
// count as one.
type LeftBy struct {
	Why     string `json:"why"` // reason of the example
	Count   int    `json:"count"`
	Example string `json:"example"` // ID of the first one; "" if its record is gone
	kind    string
}

// maxReasons bounds the number of distinct reasons. [otherReasons] counts the others.
const maxReasons = 50

const otherReasons = "other reasons"

// Untouched counts the dead letters that an operation left unchanged.
type Untouched struct {
	Left    int      `json:"left"`
	Skipped []Skip   `json:"skipped"` // the first 1000, each with its reason
	LeftBy  []LeftBy `json:"left_by"` // by reason, largest count first
}

// skip counts a dead letter.
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

// sorted returns a copy with the reasons ordered by count, largest first.
func (u *Untouched) sorted() Untouched {
	out := *u
	out.LeftBy = slices.Clone(u.LeftBy)
	slices.SortStableFunc(out.LeftBy, func(a, b LeftBy) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// byCount returns the keys ordered by count, largest first.
func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// reasonsText lists at most three reasons, the most frequent first.
func reasonsText(reasons map[string]int) string {
	var parts []string
	for i, word := range byCount(reasons) {
		if i == 3 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("%d × %s", reasons[word], word))
	}
	if len(parts) == 0 {
		return "no reason given"
	}
	return strings.Join(parts, ", ")
}
