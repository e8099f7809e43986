package retrytopics

import (
	"slices"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// A key that a dead letter holds is held by each of the dead letters of one record, when its parts died by themselves: it goes on once
// all of them are finished. Held is the id of the record's own dead letter, HeldParts say which parts hold.

// partSet is a set of parts as text, such as 3-5,17; "" is the empty one.
type partSet string

func (s partSet) indexes() []int {
	indexes, _ := header.ParseRanges(string(s), header.MaxParts) // of "" none
	return indexes
}

func (s partSet) has(index int) bool { return slices.Contains(s.indexes(), index) }

func (s partSet) with(more ...int) partSet {
	all := append(s.indexes(), more...)
	slices.Sort(all)
	return setOf(slices.Compact(all))
}

func (s partSet) without(index int) partSet {
	return setOf(slices.DeleteFunc(s.indexes(), func(i int) bool { return i == index }))
}

func setOf(indexes []int) partSet {
	all := header.Remaining{Open: indexes}
	return partSet(all.Ranges())
}

// heldFor says that a record replays a dead letter that holds the key: that of the record, or of one of its parts.
func (st keyState) heldFor(a arrival) bool {
	switch {
	case a.deadLetterID == "" || st.Held == "":
		return false
	case a.part.Whole():
		return a.deadLetterID == st.Held && (st.HeldParts == "" || st.HeldRemaining)
	}
	return a.deadLetterID == a.part.DeadLetterID(st.Held) && st.HeldParts.has(a.part.Index)
}

// heldByOthers says that a dead letter holds the key that is none of the record's own parts.
func (st keyState) heldByOthers(a arrival) bool { return st.Held != "" && st.Held != a.own }

// holdParts notes dead letters of parts of a record, whose own dead letter has, or would have, the id given.
func (st keyState) holdParts(own string, dead []int) keyState {
	if len(dead) > 0 {
		st.Held, st.HeldParts = own, st.HeldParts.with(dead...)
	}
	return st
}

// holdWhole notes the dead letter of a record, of which parts may have died before.
func (st keyState) holdWhole(a arrival, deadLetter string) keyState {
	switch {
	case !a.part.Whole() && st.heldFor(a): // it holds on
	case st.Held == deadLetter && st.HeldParts != "":
		st.HeldRemaining = true
	default:
		st.Held, st.HeldParts, st.HeldRemaining = deadLetter, "", false
	}
	return st
}

// release notes that what held the key is finished, but for the parts of it that died now.
func (st keyState) release(a arrival, dead []int) keyState {
	if a.part.Whole() {
		st.HeldRemaining = false
		st.HeldParts = st.HeldParts.with(dead...)
	} else {
		st.HeldParts = st.HeldParts.without(a.part.Index)
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
