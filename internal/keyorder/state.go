package keyorder

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// State is what is known of a key of which a record waits or has died. It is a value: methods return the next one. The zero State
// means that nothing of the key waits or has died; it is not stored.
//
// With Strict every waiting record of a key has a number. Numbers are given from 1; Next is the one that may run,
// Last the last one given. Correctness rests on the numbers alone: the tier in which a record waits only saves hops.
type State struct {
	Next, Last    int64           // Strict; both 0 when nothing waits, Last only once no leftover does either
	Tier          int             // Strict: where the record with number Next waits
	Due           time.Time       // Strict: when it is due
	Held          string          // Strict: id of the dead letter that holds the key
	HeldParts     PartSet         // Strict: parts of that dead letter's record hold it, as dead letters of their own, and not the dead letter
	HeldRemaining bool            // Strict: the dead letter holds it besides them
	Waiting       int64           // LatestWins: records in tiers. Strict: leftovers there
	DeadLetters   int64           // dead letters that may still take effect (see endsDeadLetter)
	Applied       *header.Version // newest event that took effect since one waits or has died
	Deleted       int64           // source offset behind the newest of these that is a delete: what first appeared before is older
}

// Waits says that a record with a number waits.
func (st State) Waits() bool { return st.Next > 0 && st.Next <= st.Last }

// leftover says that a record from a tier waits there since the order was another one, or knew nothing of it: it has no
// number, or one whose turn was long ago. Whoever gave it none let others overtake it, so it is held to its version.
func (st State) leftover(r Record) bool {
	return r.FromTier && !st.heldFor(r) && (st.Next == 0 || r.Number < st.Next)
}

// Loosen returns the state of a key whose order is not strict any more: what had a number waits like everything else, and nothing
// is held. Last stays until all of that is finished: should the order be strict again, no number is given twice.
func (st State) Loosen() State {
	if st.Waits() {
		st.Waiting += st.Last - st.Next + 1
	}
	st.Next, st.Tier, st.Due = 0, 0, time.Time{}
	st.Held, st.HeldParts, st.HeldRemaining = "", "", false
	return st
}

// tidy returns the zero state once nothing of the key waits or has died.
func (st State) tidy() State {
	if !st.Waits() && st.Held == "" {
		st.Next, st.Tier, st.Due = 0, 0, time.Time{}
		if st.Waiting == 0 {
			st.Last = 0
		}
	}
	if st.Next == 0 && st.Held == "" && st.Waiting == 0 && st.DeadLetters == 0 {
		return State{}
	}
	return st
}

// WithApplied notes the version of an event that took effect, where the key has a state at all.
func (st State) WithApplied(v header.Version) State {
	if st != (State{}) && (st.Applied == nil || st.Applied.Less(v)) {
		newest := v
		st.Applied = &newest
	}
	return st
}

// WithDelete notes that a delete took effect that counts by a source offset.
func (st State) WithDelete(offset int64) State {
	if st != (State{}) {
		st.Deleted = max(st.Deleted, offset+1)
	}
	return st
}

// waited counts the records without numbers that wait.
func (st State) waited(r Record, d policy.Decision) State {
	switch {
	case d.Outcome == policy.OutcomeRetried && !r.FromTier:
		st.Waiting++
	case d.Outcome.Finished() && r.FromTier:
		st.Waiting = max(0, st.Waiting-1)
	}
	return st
}
