package deadletters

// IsOutcome reports whether a state is what the consumer made of a replay.
func (s State) IsOutcome() bool {
	return s.ReplayID != "" && s.Writer == Consumer && s.Status != Replaying
}

// Verdict is what a reader of the status topic makes of a state that follows another one. It is a closed list (see [Verdicts]).
type Verdict string

// The verdicts.
const (
	Applies  Verdict = "applies"  // the state counts from now on
	Repeated Verdict = "repeated" // a second outcome of the same replay: the first one counts
	Foreign  Verdict = "foreign"  // the outcome of a replay that the letter is not in: it does not count
)

// Verdicts returns every verdict.
func Verdicts() []Verdict { return []Verdict{Applies, Repeated, Foreign} }

// Follow says whether a state takes the place of the one before it: a pure function of both. An outcome does only when the letter is
// replaying, in that same replay. So nothing that somebody makes of an old replay record, such as a copy of it, changes a letter that was
// decided about since. known is false when no state came before; compaction may have removed it, so the outcome counts then.
func Follow(prev State, known bool, next State) Verdict {
	switch {
	case !known, !next.IsOutcome():
		return Applies
	case prev.ReplayID != next.ReplayID:
		return Foreign
	case prev.Status == Replaying:
		return Applies
	case prev.IsOutcome():
		return Repeated
	}
	return Foreign // decided about by an operator since
}
