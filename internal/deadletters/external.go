package deadletters

import "strings"

// placeID begins the ids of letters that have none in a header: "dlq-<partition>-<offset>". This software gives every
// letter an id of another form, so such a letter was made by other software, which tells nobody when it has finished a
// record that was put back.
const placeID = "dlq-"

// OfOtherSoftware reports whether the letter with this id was not made by this software.
func OfOtherSoftware(id string) bool { return strings.HasPrefix(id, placeID) }

// ExternalOutcome is the state of a letter by the last record of its state and the last record of it in the DLQ: a pure function
// of both. Other software writes no states, but what it fails on again lies in the DLQ with the headers of the replay: that
// record says that the replay failed, as the consumer says it of its own (pending, or escalated from mostReplays replays
// on). It outranks what the consumer made of the same replay, and gives way to whatever an operator decided in view of it.
//
// Nothing is written: anyone who reads both topics comes to the same state, however often and with how many others.
// The reasons are in docs/decisions/0027-read-failed-replays-of-other-software-from-the-dlq.md.
func ExternalOutcome(l *Letter, s State, mostReplays int) State {
	c := &l.Control
	switch {
	case !ReportsOutcome(l): // an edit comes with a state of its own
		return s
	case c.ReplayID != s.ReplayID: // an earlier replay, or a state that is not known
		return s
	case s.DLQ == l.DLQ: // an operator looked at this very record
		return s
	case s.Writer == Consumer && (s.Status == Pending || s.Status == Escalated) && !Dialect(s.By).Valid(): // the consumer has said so
		return s
	}
	change := Change{To: Pending, Reason: "failed again: " + failure(l), By: string(l.Dialect), At: l.At}
	if c.ReplayCount >= mostReplays {
		change.To = Escalated
	}
	next, err := Closing(l.Key, *c, change)
	if err != nil {
		return s // only of what is no replay
	}
	next.Source, next.ContentHash = c.Source, l.ContentHash
	return next
}

// failure names what a letter died of.
func failure(l *Letter) string {
	if l.Control.ErrorCode == "" {
		return "no reason given"
	}
	return clip(l.Control.ErrorCode, 200)
}

// ReportsOutcome reports whether a letter's record says that a replay failed in other software, so that [ExternalOutcome] has to be asked.
// Letters of this software are its consumer's to finish, no matter who else reads the source topic.
func ReportsOutcome(l *Letter) bool {
	return l.Dialect != Native && OfOtherSoftware(l.ID) && !l.Edited() && IsReplay(l.Control)
}
