package keyorder

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// State is the state of a key with a waiting record or a dead letter. It is a value: methods return the next state. The
// zero State means that the key has neither; it is not stored.
//
// With Strict every waiting record of a key has a number. Numbers start at 1; Next is the one that may run, Last the
// last assigned one. Correctness depends on the numbers alone: the tier in which a record waits only saves hops.
type State struct {
	Next, Last    int64           // Strict; both 0 if nothing waits, Last only once no leftover does either
	Tier          int             // Strict: the tier of the record with number Next
	Due           time.Time       // Strict: when it is due
	Held          string          // Strict: ID of the dead letter that blocks the key
	HeldParts     PartSet         // Strict: parts of that dead letter's record that block the key as separate dead letters, instead of the dead letter
	HeldRemaining bool            // Strict: the dead letter blocks it in addition to them
	Waiting       int64           // LatestWins: records in tiers. Strict: leftovers there
	DeadLetters   int64           // dead letters that may still take effect (see endsDeadLetter)
	Applied       *header.Version // newest event that took effect while a record waits or is a dead letter
	Deleted       int64           // source offset after the newest delete of these: everything that first appeared before it is older
}

// Waits reports whether a record with a number waits.
func (st State) Waits() bool { return st.Next > 0 && st.Next <= st.Last }

// leftover reports whether a record from a tier was written with another order, or without one: it has no number, or one
// whose turn is long past. Other records could overtake it, so its version is compared.
func (st State) leftover(r Record) bool {
	return r.FromTier && !st.heldFor(r) && (st.Next == 0 || r.Number < st.Next)
}

// Loosen returns the state of a key whose order is no longer strict: records with numbers wait like all others, and the
// key is not blocked. Last stays until all of them are finished, so that no number is assigned twice if the order
// becomes strict again.
func (st State) Loosen() State {
	if st.Waits() {
		st.Waiting += st.Last - st.Next + 1
	}
	st.Next, st.Tier, st.Due = 0, 0, time.Time{}
	st.Held, st.HeldParts, st.HeldRemaining = "", "", false
	return st
}

// tidy returns the zero state once the key has no waiting record and no dead letter.
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

// WithApplied stores the version of an effective event, if the key has a state at all.
func (st State) WithApplied(v header.Version) State {
	if st != (State{}) && (st.Applied == nil || st.Applied.Less(v)) {
		newest := v
		st.Applied = &newest
	}
	return st
}

// WithDelete stores an effective delete that counts by a source offset.
func (st State) WithDelete(offset int64) State {
	if st != (State{}) {
		st.Deleted = max(st.Deleted, offset+1)
	}
	return st
}

// waited counts the waiting records without numbers.
func (st State) waited(r Record, d policy.Decision) State {
	switch {
	case d.Outcome == policy.OutcomeRetried && !r.FromTier:
		st.Waiting++
	case d.Outcome.Finished() && r.FromTier:
		st.Waiting = max(0, st.Waiting-1)
	}
	return st
}
