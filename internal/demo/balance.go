package demo

// Balance is the conservation table of a pipeline, counted from its topics. A dead letter that was
// replayed is counted as one more source record, so that the equation holds over several passes.
type Balance struct {
	Consumed     int64 // records in the source topic, replayed letters among them
	Delivered    int64 // records in the output topic
	DeadLettered int64 // records in the DLQ
	Duplicates   int64 // closed with this reason in the audit trail
	Superseded   int64 // closed with this reason in the audit trail
	Filtered     int64 // closed by a rule (filtered) or by a person (skipped) in the audit trail
	Waiting      int64 // in the source or a tier, and not yet committed by the group
	Lost         int64 // source records that are in none of these places
	Doubled      int64 // records in these places beyond the one of their source record
}

// Accounted is the sum of all places where a consumed record may end.
func (b Balance) Accounted() int64 {
	return b.Delivered + b.DeadLettered + b.Duplicates + b.Superseded + b.Filtered
}

// Holds reports whether every record is in exactly one place and none waits. It is stricter than
// the sums: a lost and a doubled record do not cancel out.
func (b Balance) Holds() bool {
	return b.Consumed == b.Accounted() && b.Waiting == 0 && b.Lost == 0 && b.Doubled == 0
}
