package deadletters

import "slices"

// IsOutcome reports whether a state is the consumer's outcome of a replay.
func (s State) IsOutcome() bool {
	return s.ReplayID != "" && s.Writer == Consumer && s.Status != Replaying
}

// Verdict is how a reader of the status topic treats a state that follows another one. It is a closed list (see
// [Verdicts]).
type Verdict string

// The verdicts.
const (
	Applies  Verdict = "applies"  // the state counts from now on
	Repeated Verdict = "repeated" // a second outcome of the same replay: the first one counts
	Foreign  Verdict = "foreign"  // the outcome of a replay that the dead letter is not in: it does not count
)

// Verdicts returns every verdict.
func Verdicts() []Verdict { return []Verdict{Applies, Repeated, Foreign} }

// Last has what decides about the next state of a dead letter: two bytes, for readers that hold millions. The zero Last
// is that of a dead letter without a readable state.
type Last struct {
	status uint8 // one more than its index in Statuses
	writer Writer
}

// LastOf returns the Last of a state.
func LastOf(s State) Last {
	return Last{status: uint8(slices.Index(Statuses(), s.Status) + 1), writer: s.Writer}
}

// Status returns the status of the last state; pending without one.
func (l Last) Status() Status {
	if l.status == 0 {
		return Pending
	}
	return Statuses()[l.status-1]
}

// Writer returns the writer of the last state.
func (l Last) Writer() Writer { return l.writer }

// Follow decides about the state after the last one; sameReplay reports whether both name the same replay. An outcome
// counts only if the dead letter is replaying, in that same replay. So a copy of an old replay record changes no dead
// letter that was decided about since. Without a last state the outcome counts, because compaction may have removed the
// state.
func (l Last) Follow(next State, sameReplay bool) Verdict {
	switch {
	case l.status == 0, !next.IsOutcome():
		return Applies
	case !sameReplay:
		return Foreign
	case l.Status() == Replaying:
		return Applies
	case l.writer == Consumer:
		return Repeated
	}
	return Foreign // an operator has decided since
}
