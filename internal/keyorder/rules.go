package keyorder

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Mode is the order in which the events of one key take effect. It has the values of retrytopics.Order.
type Mode string

// The modes.
const (
	None       Mode = "none"
	LatestWins Mode = "latest_wins"
	Strict     Mode = "strict"
)

// Rules set which order is kept.
type Rules struct {
	Mode    Mode
	HoldKey bool // Strict: a dead letter blocks its key until it has been replayed and is finished
}

// Record has the properties of a record that decide the order of its key.
type Record struct {
	FromTier      bool
	Number        int64       // of a waiting record with Strict; 0 if it has none
	DeadLetterID  string      // of the dead letter that this record replays
	Part          header.Part // the part of that dead letter
	OwnDeadLetter string      // ID of the record's own dead letter, if parts of it are dead letters
}

// Admit decides, before an attempt, whether a record may run now. If not, the decision is the tier in which it waits,
// and number is its place in the order of its key from then on.
func (rules Rules) Admit(st State, r Record, tiers []policy.Tier, now time.Time) (next State, d policy.Decision, number int64, run bool) {
	if rules.Mode != Strict || st.heldFor(r) || st.leftover(r) {
		return st, policy.Decision{}, r.Number, true
	}
	if r.Number > 0 {
		if !st.heldByOthers(r) && (!st.Waits() || r.Number <= st.Next) {
			return st, policy.Decision{}, r.Number, true
		}
		return st, st.behind(tiers, now), r.Number, false
	}
	if !st.Waits() && st.Held == "" {
		return st, policy.Decision{}, 0, true
	}
	d = st.behind(tiers, now) // where the predecessor waits
	st.Last++
	if st.Next == 0 {
		st.Next = st.Last
	}
	return st, d, st.Last, false
}

// behind returns the decision for a record that waits for its predecessor.
func (st State) behind(tiers []policy.Tier, now time.Time) policy.Decision {
	d := policy.Decision{Outcome: policy.OutcomeParked, Reason: policy.ReasonBehind, Tier: min(max(st.Tier, 0), len(tiers)-1), Due: st.Due}
	if st.Held != "" {
		d.Reason, d.Tier = policy.ReasonKeyHeld, len(tiers)-1
	}
	if !d.Due.After(now) || st.Held != "" { // the predecessor is due or running, or its time is unknown
		d.Due = header.RoundUp(now.Add(tiers[d.Tier].Delay))
	}
	return d
}

// Guards reports whether a record's version is compared: it must not take effect if a newer event of its key did. In
// strict order the numbers ensure this, except for records without a number.
func (rules Rules) Guards(st State, r Record) bool {
	return rules.Mode == LatestWins || rules.Mode == Strict && (r.DeadLetterID != "" || st.leftover(r))
}

// After returns the state of the key after an attempt with decision d. deadLetter is the ID of the record's dead letter
// if it has one, and dead are its parts with their own dead letters. number is the record's number from now on.
func (rules Rules) After(st State, r Record, d policy.Decision, deadLetter string, dead ...int) (next State, number int64) {
	died := d.Outcome == policy.OutcomeDeadLettered
	switch {
	case rules.Mode == Strict && st.leftover(r):
		st = st.waited(r, d)
	case rules.Mode == Strict:
		st, number = rules.afterStrict(st, r, d, deadLetter, dead)
	case rules.Mode == None && st == State{}: // nothing is added; the state of another order is finished
		return st, 0
	default:
		st = st.Loosen().waited(r, d)
	}
	switch {
	case died && r.DeadLetterID == "":
		st.DeadLetters++
	case r.DeadLetterID != "" && endsDeadLetter(d.Outcome):
		st.DeadLetters = max(0, st.DeadLetters-1)
	case r.DeadLetterID != "" && d.Outcome.Finished():
		st.DeadLetters = max(1, st.DeadLetters) // this one
	}
	return st.tidy(), number
}

// PartsDied counts dead letters of a record's parts.
func (rules Rules) PartsDied(st State, parts int) State {
	if rules.Mode != None || st != (State{}) {
		st.DeadLetters += int64(parts)
	}
	return st
}

// endsDeadLetter reports whether a replay with this outcome ends its dead letter permanently. A dead letter that was
// closed as superseded, filtered or skipped can be reopened and replayed again, however late. Until then the newest
// event of its key must be remembered, or the dead letter could take effect over it unnoticed.
func endsDeadLetter(o policy.Outcome) bool {
	return o == policy.OutcomeDelivered || o == policy.OutcomeDuplicate
}

func (rules Rules) afterStrict(st State, r Record, d policy.Decision, deadLetter string, dead []int) (State, int64) {
	holder := st.heldFor(r)
	if !rules.HoldKey {
		dead = nil
	}
	// A record with unreadable headers has no turn. It becomes a dead letter at once, and does not change which dead
	// letters block the key.
	outOfTurn := r.Number == 0 && !holder && (st.Waits() || st.Held != "")
	switch {
	case d.Outcome == policy.OutcomeRetried && holder:
		if r.Part.Whole() && len(dead) > 0 { // its other parts wait for another attempt
			st.HeldRemaining = true
		}
		return st.holdParts(st.Held, dead), 0
	case d.Outcome == policy.OutcomeRetried:
		if r.Number == 0 {
			st.Last++
			st.Next, r.Number = st.Last, st.Last
		}
		st.Tier, st.Due = d.Tier, d.Due
		return st.holdParts(r.OwnDeadLetter, dead), r.Number
	case d.Outcome == policy.OutcomeParked:
		return st, r.Number
	}
	if r.Number > 0 && r.Number == st.Next {
		st.Next++
	}
	switch {
	case d.Outcome == policy.OutcomeDeadLettered && rules.HoldKey && !outOfTurn:
		st = st.holdWhole(r, deadLetter)
	case holder:
		st = st.release(r, dead)
	case !outOfTurn:
		st = st.holdParts(r.OwnDeadLetter, dead)
	}
	if st.Held != "" && st.Next == 0 {
		st.Next = st.Last + 1
	}
	return st, 0
}
