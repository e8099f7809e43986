package keyorder

import (
	"slices"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Dead letters of one record's parts block the record's key together: the key continues once all of them are resolved.
// Held is the ID of the record's own dead letter, HeldParts are the parts that block the key.

// PartSet is a set of parts as text, such as 3-5,17; "" is the empty one.
type PartSet string

func (s PartSet) indexes() []int {
	indexes, _ := header.ParseRanges(string(s), header.MaxParts) // of "": none
	return indexes
}

func (s PartSet) has(index int) bool { return slices.Contains(s.indexes(), index) }

func (s PartSet) with(more ...int) PartSet {
	all := append(s.indexes(), more...)
	slices.Sort(all)
	return setOf(slices.Compact(all))
}

func (s PartSet) without(index int) PartSet {
	return setOf(slices.DeleteFunc(s.indexes(), func(i int) bool { return i == index }))
}

func setOf(indexes []int) PartSet {
	all := header.Remaining{Open: indexes}
	return PartSet(all.Ranges())
}

// heldFor reports whether a record replays a dead letter that blocks the key: the record's own or that of one of its
// parts.
func (st State) heldFor(r Record) bool {
	switch {
	case r.DeadLetterID == "" || st.Held == "":
		return false
	case r.Part.Whole():
		return r.DeadLetterID == st.Held && (st.HeldParts == "" || st.HeldRemaining)
	}
	return r.DeadLetterID == r.Part.DeadLetterID(st.Held) && st.HeldParts.has(r.Part.Index)
}

// heldByOthers reports whether another record's dead letter blocks the key.
func (st State) heldByOthers(r Record) bool { return st.Held != "" && st.Held != r.OwnDeadLetter }

// holdParts adds dead letters of a record's parts. own is the ID that the record's own dead letter has or would have.
func (st State) holdParts(own string, dead []int) State {
	if len(dead) > 0 {
		st.Held, st.HeldParts = own, st.HeldParts.with(dead...)
	}
	return st
}

// holdWhole adds the dead letter of a record whose parts may already have their own dead letters.
func (st State) holdWhole(r Record, deadLetter string) State {
	switch {
	case !r.Part.Whole() && st.heldFor(r): // it still blocks the key
	case st.Held == deadLetter && st.HeldParts != "":
		st.HeldRemaining = true
	default:
		st.Held, st.HeldParts, st.HeldRemaining = deadLetter, "", false
	}
	return st
}

// release removes the resolved dead letter from those that block the key, and adds the parts that became dead letters
// now.
func (st State) release(r Record, dead []int) State {
	if r.Part.Whole() {
		st.HeldRemaining = false
		st.HeldParts = st.HeldParts.with(dead...)
	} else {
		st.HeldParts = st.HeldParts.without(r.Part.Index)
	}
	if st.HeldParts != "" {
		return st
	}
	if !st.HeldRemaining {
		st.Held = ""
	}
	st.HeldRemaining = false
	return st
}
