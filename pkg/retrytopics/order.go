package retrytopics

import (
	"cmp"
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Order says which order of the events of one key is kept.
type Order string

const (
	// OrderNone keeps no order once a record waits: later records of its key overtake it.
	OrderNone Order = "none"
	// OrderLatestWins lets records of a key overtake each other, but an older event never takes effect after a newer one:
	// it is closed as superseded.
	OrderLatestWins Order = "latest_wins"
	// OrderStrict lets the events of a key take effect in source order, even when an early one waits.
	OrderStrict Order = "strict"
)

// Orders lists every order.
func Orders() []Order { return []Order{OrderNone, OrderLatestWins, OrderStrict} }

// OnDeadLetter says what OrderStrict does with a key one of whose records died.
type OnDeadLetter string

const (
	// OnDeadLetterContinue goes on with the next record of the key.
	OnDeadLetterContinue OnDeadLetter = "continue"
	// OnDeadLetterHoldKey lets the key wait until the dead letter has been replayed and is finished.
	OnDeadLetterHoldKey OnDeadLetter = "hold_key"
)

// OnDeadLetters lists every choice.
func OnDeadLetters() []OnDeadLetter { return []OnDeadLetter{OnDeadLetterContinue, OnDeadLetterHoldKey} }

// Version orders the events of one key: by the number that the handler gives, then by source offset. Where the handler
// gives none, the source offset alone decides: one key has one partition, so offsets are ordered.
type Version struct {
	Number int64
	Offset int64 // of the event's first appearance in the source topic
}

// Less says whether v is older than w.
func (v Version) Less(w Version) bool {
	return v.Number < w.Number || v.Number == w.Number && v.Offset < w.Offset
}

// keyState is what a partition knows of a key of which a record waits or has died. The zero state means that nothing of the
// key waits or has died; it is not stored.
//
// Under OrderStrict every waiting record of a key has a number. Numbers are given from 1; Next is the one that may run,
// Last the last one given. Correctness rests on the numbers alone: the tier in which a record waits only saves hops.
type keyState struct {
	Next, Last    int64     // OrderStrict; both 0 when nothing waits, Last only once no leftover does either
	Tier          int       // OrderStrict: where the record with number Next waits
	Due           time.Time // OrderStrict: when it is due
	Held          string    // OrderStrict: id of the dead letter that holds the key
	HeldParts     partSet   // OrderStrict: parts of that dead letter's record hold it, as dead letters of their own, and not the dead letter
	HeldRemaining bool      // OrderStrict: the dead letter holds it besides them
	Waiting       int64     // OrderLatestWins: records in tiers. OrderStrict: leftovers there
	DeadLetters   int64     // dead letters that may still take effect (see settles)
	Applied       *Version  // newest event that took effect since one waits or has died
	Deleted       int64     // source offset behind the newest of these that is a delete: what first appeared before is older
}

func (st keyState) waits() bool { return st.Next > 0 && st.Next <= st.Last }

// leftover says that a record from a tier waits there since the order was another one, or knew nothing of it: it has no
// number, or one whose turn was long ago. Whoever gave it none let others overtake it, so it is held to its version.
func (st keyState) leftover(a arrival) bool {
	return a.fromTier && !st.heldFor(a) && (st.Next == 0 || a.sequence < st.Next)
}

// loosen is the state of a key whose order is not strict any more: what had a number waits like everything else, and nothing
// is held. Last stays until all of that is finished: should the order be strict again, no number is given twice.
func (st keyState) loosen() keyState {
	if st.waits() {
		st.Waiting += st.Last - st.Next + 1
	}
	st.Next, st.Tier, st.Due = 0, 0, time.Time{}
	st.Held, st.HeldParts, st.HeldRemaining = "", "", false
	return st
}

// tidy gives the zero state once nothing of the key waits or has died.
func (st keyState) tidy() keyState {
	if !st.waits() && st.Held == "" {
		st.Next, st.Tier, st.Due = 0, 0, time.Time{}
		if st.Waiting == 0 {
			st.Last = 0
		}
	}
	if st.Next == 0 && st.Held == "" && st.Waiting == 0 && st.DeadLetters == 0 {
		return keyState{}
	}
	return st
}

// applied notes the version of an event that took effect, where the key has a state at all.
func (st keyState) applied(v Version) keyState {
	if st != (keyState{}) && (st.Applied == nil || st.Applied.Less(v)) {
		newest := v
		st.Applied = &newest
	}
	return st
}

// deleted notes that a delete took effect that counts by a source offset.
func (st keyState) deleted(offset int64) keyState {
	if st != (keyState{}) {
		st.Deleted = max(st.Deleted, offset+1)
	}
	return st
}

// arrival is what admit and after need to know of a record.
type arrival struct {
	fromTier     bool
	sequence     int64       // number of a waiting record under OrderStrict; 0 when it has none
	deadLetterID string      // id of the dead letter that this record replays
	part         header.Part // of which it is the dead letter
	own          string      // id of the record's own dead letter, where parts of it have died
}

// startOrWait decides, before an attempt, whether a record may run now. When it may not, the decision says where it waits
// meanwhile, and sequence is its number. It is pure.
func (o Ordering) startOrWait(st keyState, a arrival, tiers []policy.Tier, now time.Time) (next keyState, d policy.Decision, sequence int64, run bool) {
	if o.Mode != OrderStrict || st.heldFor(a) || st.leftover(a) {
		return st, policy.Decision{}, a.sequence, true
	}
	if a.sequence > 0 {
		if !st.heldByOthers(a) && (!st.waits() || a.sequence <= st.Next) {
			return st, policy.Decision{}, a.sequence, true
		}
		return st, st.behind(tiers, now), a.sequence, false
	}
	if !st.waits() && st.Held == "" {
		return st, policy.Decision{}, 0, true
	}
	d = st.behind(tiers, now) // where the predecessor waits
	st.Last++
	if st.Next == 0 {
		st.Next = st.Last
	}
	return st, d, st.Last, false
}

// behind says where a record waits for its predecessor.
func (st keyState) behind(tiers []policy.Tier, now time.Time) policy.Decision {
	d := policy.Decision{Outcome: policy.OutcomeParked, Reason: policy.ReasonBehind, Tier: min(max(st.Tier, 0), len(tiers)-1), Due: st.Due}
	if st.Held != "" {
		d.Reason, d.Tier = policy.ReasonKeyHeld, len(tiers)-1
	}
	if !d.Due.After(now) || st.Held != "" { // the predecessor is due or under way, or nobody knows when it comes
		d.Due = header.RoundUp(now.Add(tiers[d.Tier].Delay))
	}
	return d
}

// guards says whether a record is held to its version: it must not take effect when a newer event of its key did. In strict
// order the numbers see to that, but for what came in by another way.
func (o Ordering) guards(st keyState, a arrival) bool {
	return o.Mode == OrderLatestWins || o.Mode == OrderStrict && (a.deadLetterID != "" || st.leftover(a))
}

// after gives the state of the key once an attempt has ended with decision d. deadLetter is the id of the dead letter when
// the record has died, dead are its parts that have. sequence is the record's number from now on. It is pure.
func (o Ordering) after(st keyState, a arrival, d policy.Decision, deadLetter string, dead ...int) (next keyState, sequence int64) {
	died := d.Outcome == policy.OutcomeDeadLettered
	switch {
	case o.Mode == OrderStrict && st.leftover(a):
		st = st.waited(a, d)
	case o.Mode == OrderStrict:
		st, sequence = o.afterStrict(st, a, d, deadLetter, dead)
	case o.Mode == OrderNone && st == keyState{}: // nothing more is noted; what another order has noted is brought to its end
		return st, 0
	default:
		st = st.loosen().waited(a, d)
	}
	switch {
	case died && a.deadLetterID == "":
		st.DeadLetters++
	case a.deadLetterID != "" && endsDeadLetter(d.Outcome):
		st.DeadLetters = max(0, st.DeadLetters-1)
	case a.deadLetterID != "" && d.Outcome.Finished():
		st.DeadLetters = max(1, st.DeadLetters) // this one
	}
	return st.tidy(), sequence
}

// lost notes dead letters of parts of a record.
func (o Ordering) lost(st keyState, parts int) keyState {
	if o.Mode != OrderNone || st != (keyState{}) {
		st.DeadLetters += int64(parts)
	}
	return st
}

// endsDeadLetter says whether a replay with this outcome ends its dead letter permanently. A dead letter that was closed as superseded,
// filtered or skipped can be reopened and put back again, however late: until then the newest event of its key must be
// remembered, or the dead letter could take effect over it without anybody's word.
func endsDeadLetter(o policy.Outcome) bool {
	return o == policy.OutcomeDelivered || o == policy.OutcomeDuplicate
}

func (o Ordering) afterStrict(st keyState, a arrival, d policy.Decision, deadLetter string, dead []int) (keyState, int64) {
	holder := st.heldFor(a)
	if o.OnDeadLetter != OnDeadLetterHoldKey {
		dead = nil
	}
	// Of a record whose headers cannot be read no turn is known. It dies at once, and holds nothing that belongs to others.
	outOfTurn := a.sequence == 0 && !holder && (st.waits() || st.Held != "")
	switch {
	case d.Outcome == policy.OutcomeRetried && holder:
		st.HeldRemaining = a.part.Whole() && (st.HeldRemaining || len(dead) > 0) || !a.part.Whole() && st.HeldRemaining
		return st.holdParts(st.Held, dead), 0
	case d.Outcome == policy.OutcomeRetried:
		if a.sequence == 0 {
			st.Last++
			st.Next, a.sequence = st.Last, st.Last
		}
		st.Tier, st.Due = d.Tier, d.Due
		return st.holdParts(a.own, dead), a.sequence
	case d.Outcome == policy.OutcomeParked:
		return st, a.sequence
	}
	if a.sequence > 0 && a.sequence == st.Next {
		st.Next++
	}
	switch {
	case d.Outcome == policy.OutcomeDeadLettered && o.OnDeadLetter == OnDeadLetterHoldKey && !outOfTurn:
		st = st.holdWhole(a, deadLetter)
	case holder:
		st = st.release(a, dead)
	case !outOfTurn:
		st = st.holdParts(a.own, dead)
	}
	if st.Held != "" && st.Next == 0 {
		st.Next = st.Last + 1
	}
	return st, 0
}

// waited counts the records without numbers that wait.
func (st keyState) waited(a arrival, d policy.Decision) keyState {
	switch {
	case d.Outcome == policy.OutcomeRetried && !a.fromTier:
		st.Waiting++
	case d.Outcome.Finished() && a.fromTier:
		st.Waiting = max(0, st.Waiting-1)
	}
	return st
}

// Ordering says which order an engine keeps, and where it remembers what it needs for it.
type Ordering struct {
	Mode         Order        // Defaults to OrderLatestWins.
	OnDeadLetter OnDeadLetter // of OrderStrict. Defaults to OnDeadLetterContinue.
	// StateTopic is a compacted topic with as many partitions as the source. It also has the checkpoints, by which the engine goes
	// on when the group's commits have expired; with OrderNone it may be missing, and then nothing replaces expired commits. Defaults
	// to <Source>.state.
	StateTopic string
	// Versioned says that the handler gives Result.Version for every record that is no tombstone; one without is then not
	// compared. Otherwise the source offset is the version.
	Versioned bool
	Versions  Versions // where Versioned is set
}

func (o Ordering) withDefaults(source string) Ordering {
	o.Mode = cmp.Or(o.Mode, OrderLatestWins)
	o.OnDeadLetter = cmp.Or(o.OnDeadLetter, OnDeadLetterContinue)
	o.StateTopic = cmp.Or(o.StateTopic, source+".state")
	o.Versions = o.Versions.withDefaults()
	return o
}

func (o Ordering) faults() []error {
	var faults []error
	if o.Mode != OrderNone && o.Mode != OrderLatestWins && o.Mode != OrderStrict {
		faults = append(faults, fmt.Errorf("Ordering.Mode %q is none of %v", o.Mode, Orders()))
	}
	if o.OnDeadLetter != OnDeadLetterContinue && o.OnDeadLetter != OnDeadLetterHoldKey {
		faults = append(faults, fmt.Errorf("Ordering.OnDeadLetter %q is none of %v", o.OnDeadLetter, OnDeadLetters()))
	}
	return append(faults, o.Versions.faults()...)
}
