package verify

// Verdict is the result of a run. It is a closed list (see [Verdicts]).
type Verdict string

// The verdicts.
const (
	Proven   Verdict = "proven"   // every record that the source holds is in exactly one place
	Unknown  Verdict = "unknown"  // nothing that can be known is wrong, and some of it cannot be known
	Violated Verdict = "violated" // at least one record is missing, or in a wrong place
)

// Verdicts lists every verdict.
func Verdicts() []Verdict { return []Verdict{Proven, Unknown, Violated} }

// Kind is a kind of finding. It is a closed list (see [Kinds]).
type Kind string

// The kinds.
const (
	Missing          Kind = "missing"               // in no place although the group has finished it
	Lost             Kind = "lost"                  // deleted from the source before the group had finished it
	Duplicated       Kind = "duplicated"            // in the output more often than it was delivered
	DeliveredAndDead Kind = "delivered_and_dead"    // in the output and in the DLQ, and no replay explains it
	DeadTwice        Kind = "dead_twice"            // in the DLQ more often than it died
	StillWaiting     Kind = "ended_and_waiting"     // it has an end, and also waits in a tier
	Unfounded        Kind = "unfounded"             // the output or the DLQ names a source position that holds no record
	Stranded         Kind = "stranded"              // waits in a topic that no running instance consumes
	CutShort         Kind = "cut_short"             // the log ends before the group's commit
	ReadAgain        Kind = "read_again"            // it has an end, and is or was read again: positions were set back
	Overdue          Kind = "overdue"               // waits although it was due more than a minute ago
	LostInTier       Kind = "deleted_while_waiting" // offsets of a tier that were deleted before the group had finished them
	UnprovenReplay   Kind = "unproven_replay"       // a replay signed with a key that is not known, so it may be a new record
)

// Kinds lists every kind, violations first.
func Kinds() []Kind {
	return []Kind{Missing, Lost, Duplicated, DeliveredAndDead, DeadTwice, StillWaiting, Unfounded, Stranded, CutShort, ReadAgain, Overdue, LostInTier, UnprovenReplay}
}

// Violates reports whether a finding of the kind breaks a guarantee.
func (k Kind) Violates() bool {
	return k != ReadAgain && k != Overdue && k != LostInTier && k != UnprovenReplay
}

// Reason is why something cannot be known. It is a closed list (see [Reasons]).
type Reason string

// The reasons.
const (
	Retention  Reason = "retention"  // the front of the topic is lost: by retention, or deleted by somebody
	Compaction Reason = "compaction" // the topic is compacted
	Unreadable Reason = "unreadable" // an event of the trail is damaged
	KeyUnknown Reason = "key"        // the proof of a replay names a key that verify does not have
	Renamed    Reason = "renamed"    // records of another pipeline id name it
	Recreated  Reason = "recreated"  // the source topic was re-created: records that name its positions may mean the former one
)

// Reasons lists every reason.
func Reasons() []Reason {
	return []Reason{Retention, Compaction, Unreadable, KeyUnknown, Renamed, Recreated}
}
