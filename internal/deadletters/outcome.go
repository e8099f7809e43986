package deadletters

import (
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// IsOutcome reports whether a state is the consumer's outcome of a replay.
func (s State) IsOutcome() bool {
	return s.ReplayID != "" && s.Writer == Consumer && s.Status != Replaying
}

// Verdict is how a reader of the status topic treats a state that follows another one. It is a closed list.
type Verdict string

// The verdicts.
const (
	Applies  Verdict = "applies"  // the state counts from now on
	Repeated Verdict = "repeated" // a second outcome of the same replay: the first one counts
	Foreign  Verdict = "foreign"  // the outcome of a replay that the dead letter is not in: it does not count
)

// Last has the properties that decide about the next state of a dead letter: two bytes, for readers that keep
// millions. The zero Last is that of a dead letter without a readable state.
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

// placeID begins the IDs of dead letters without an ID in a header: "dlq-<partition>-<offset>". This software uses
// another form, so other software wrote such a dead letter, and that software does not report when it has finished a
// record that was put back.
const placeID = "dlq-"

// OfOtherSoftware reports whether other software made the dead letter with this ID.
func OfOtherSoftware(id string) bool { return strings.HasPrefix(id, placeID) }

// ExternalOutcome returns the state of a dead letter from its last state record and its last DLQ record; it is pure.
// Other software writes no states. But a record on which it fails again is in the DLQ with the headers of the replay,
// and that means that the replay failed, like the consumer's own report (pending, or escalated from mostReplays
// replays on). It overrides the consumer's outcome of the same replay, but not an operator's later decision.
//
// Nothing is written: every reader of both topics comes to the same state. The reasons are in
// docs/decisions/0027-read-failed-replays-of-other-software-from-the-dlq.md.
func ExternalOutcome(l *Letter, s State, mostReplays int) State {
	c := &l.Control
	switch {
	case !ReportsOutcome(l): // an edit writes its own state
		return s
	case c.ReplayID != s.ReplayID: // an earlier replay, or an unknown state
		return s
	case s.DLQ == l.DLQ: // an operator looked at this very record
		return s
	case s.Writer == Consumer && (s.Status == Pending || s.Status == Escalated) && !Dialect(s.By).Valid(): // the consumer has reported it
		return s
	}
	change := Change{To: Pending, Reason: "failed again: " + failure(l), By: string(l.Dialect), At: l.At}
	if c.ReplayCount >= mostReplays {
		change.To = Escalated
	}
	next, err := Closing(l.Key, *c, change)
	if err != nil {
		return s // only about other statuses
	}
	next.Source, next.ContentHash = c.Source, l.ContentHash
	return next
}

// failure returns the cause of a dead letter's death.
func failure(l *Letter) string {
	if l.Control.ErrorCode == "" {
		return "no reason given"
	}
	return header.Clip(l.Control.ErrorCode, 200)
}

// ReportsOutcome reports whether a dead letter's record means that a replay failed in other software, so that
// [ExternalOutcome] applies. Only its own consumer finishes dead letters of this software, whoever else reads the source
// topic.
func ReportsOutcome(l *Letter) bool {
	return l.Dialect != Native && OfOtherSoftware(l.ID) && !l.Edited() && IsReplay(l.Control)
}
