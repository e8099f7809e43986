package policy

// Outcome is how one attempt ends for a record.
type Outcome string

// The outcomes.
const (
	OutcomeDelivered    Outcome = "delivered"     // the handler's outputs are produced; the record is finished
	OutcomeRetried      Outcome = "retried"       // the record waits in a tier for its next attempt
	OutcomeParked       Outcome = "parked"        // the record surfaced before its due time and continues to wait; no attempt was made
	OutcomeDeadLettered Outcome = "dead_lettered" // the record is in the DLQ; it is finished
	OutcomeDuplicate    Outcome = "duplicate"     // closed by the handler: the same content took effect before
	OutcomeSuperseded   Outcome = "superseded"    // closed by the handler: a newer version took effect before
	OutcomeFiltered     Outcome = "filtered"      // closed by the handler: a rule of the pipeline leaves it out
	OutcomeSkipped      Outcome = "skipped"       // closed by the handler for another reason
)

// Outcomes lists every outcome.
func Outcomes() []Outcome {
	return []Outcome{
		OutcomeDelivered, OutcomeRetried, OutcomeParked, OutcomeDeadLettered,
		OutcomeDuplicate, OutcomeSuperseded, OutcomeFiltered, OutcomeSkipped,
	}
}

// Finished reports whether a record with this outcome is done: it does not wait in a tier.
func (o Outcome) Finished() bool { return o != OutcomeRetried && o != OutcomeParked }

// Closes reports whether a handler may close a record with this outcome.
func (o Outcome) Closes() bool {
	switch o {
	case OutcomeDelivered, OutcomeDuplicate, OutcomeSuperseded, OutcomeFiltered, OutcomeSkipped:
		return true
	case OutcomeRetried, OutcomeParked, OutcomeDeadLettered:
	}
	return false
}

// Reason is why an outcome was chosen. The list is closed: it is a metric label and part of the audit trail.
type Reason string

// The reasons.
const (
	ReasonHandled          Reason = "handled"           // the handler finished without an error
	ReasonTransient        Reason = "transient_failure" // the failure is transient; the policy's delay applies
	ReasonRetryAfter       Reason = "retry_after"       // the failure named the time of the next attempt
	ReasonRetryAfterCapped Reason = "retry_after_capped"
	ReasonNotDue           Reason = "not_due"            // parked: the due time lies beyond the tier's delay
	ReasonBehind           Reason = "behind_predecessor" // parked: an earlier record of the key waits
	ReasonKeyHeld          Reason = "key_held"           // parked: a dead letter of the key blocks it
	ReasonOvertaken        Reason = "overtaken"          // closed: equal to, or older than, the last effective event of its key
	ReasonForced           Reason = "forced_over_newer"  // delivered: an operator put it back over a newer event
	ReasonExhausted        Reason = "retries_exhausted"
	ReasonPermanent        Reason = "permanent_failure" // the failure is permanent
	ReasonRow              Reason = "row_failure"       // this record is bad
	ReasonFitsNoTier       Reason = "fits_no_tier"      // the failure is transient, but no tier accepts the record
	ReasonPartialFailure   Reason = "parts_dead"        // every part of the record is finished, and some are separate dead letters
	ReasonManyParts        Reason = "too_many_parts"    // more parts failed than can be separate dead letters
)

// Reasons lists every reason.
func Reasons() []Reason {
	return []Reason{
		ReasonHandled, ReasonTransient, ReasonRetryAfter, ReasonRetryAfterCapped, ReasonNotDue,
		ReasonBehind, ReasonKeyHeld, ReasonOvertaken, ReasonForced, ReasonExhausted, ReasonPermanent, ReasonRow, ReasonFitsNoTier,
		ReasonPartialFailure, ReasonManyParts,
	}
}
