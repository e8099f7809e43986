package verify

// Verdict is what a run comes to. It is a closed list (see [Verdicts]).
type Verdict string

// The verdicts.
const (
	Proven   Verdict = "proven"   // every record that the source holds is in exactly one place
	Unknown  Verdict = "unknown"  // nothing is wrong with what can be known, and some of it cannot
	Violated Verdict = "violated" // at least one record is missing, or is where it must not be
)

// Verdicts lists every verdict.
func Verdicts() []Verdict { return []Verdict{Proven, Unknown, Violated} }

// Kind is what is wrong with a record, or worth a look. It is a closed list (see [Kinds]).
type Kind string

// The kinds.
const (
	Missing          Kind = "missing"               // in no place, though the group has finished it
	Lost             Kind = "lost"                  // deleted from the source before the group had finished it
	Duplicated       Kind = "duplicated"            // in the output more often than it was delivered
	DeliveredAndDead Kind = "delivered_and_dead"    // in the output and in the DLQ, and no replay explains it
	DeadTwice        Kind = "dead_twice"            // in the DLQ more often than it died
	StillWaiting     Kind = "ended_and_waiting"     // it has its end, and waits in a tier as well
	Unfounded        Kind = "unfounded"             // the output or the DLQ names a source position that holds no record
	Stranded         Kind = "stranded"              // waits in a topic that no running instance consumes
	CutShort         Kind = "cut_short"             // the log ends before what is committed of it
	ReadAgain        Kind = "read_again"            // has its end, and is or was read again: positions were set back
	Overdue          Kind = "overdue"               // waits, and was due more than a minute ago
	LostInTier       Kind = "deleted_while_waiting" // offsets of a tier that were deleted before the group had finished them
	UnprovenReplay   Kind = "unproven_replay"       // a replay signed with a key that is not known, so it may be a new record
)

// Kinds lists every kind, violations first.
func Kinds() []Kind {
	return []Kind{Missing, Lost, Duplicated, DeliveredAndDead, DeadTwice, StillWaiting, Unfounded, Stranded, CutShort, ReadAgain, Overdue, LostInTier, UnprovenReplay}
}

// Violates says whether a finding of the kind is a breach of what is guaranteed.
func (k Kind) Violates() bool {
	return k != ReadAgain && k != Overdue && k != LostInTier && k != UnprovenReplay
}

// Reason is why something cannot be known. It is a closed list (see [Reasons]).
type Reason string

// The reasons.
const (
	Retention  Reason = "retention"  // the front of the topic is gone: by retention, or somebody deleted it
	Compaction Reason = "compaction" // the topic is compacted
	Unreadable Reason = "unreadable" // an event of the trail is damaged
	KeyUnknown Reason = "key"        // the proof of a replay names a replay key that verify does not have
	Renamed    Reason = "renamed"    // records of another pipeline id name it
	Recreated  Reason = "recreated"  // the source topic was re-created: what names its positions may be of the former one
)

// Reasons lists every reason.
func Reasons() []Reason {
	return []Reason{Retention, Compaction, Unreadable, KeyUnknown, Renamed, Recreated}
}
