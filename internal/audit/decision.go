package audit

import (
	"fmt"
	"slices"
)

// Decision is the decision about one record. It is a closed list (see [Decisions]).
type Decision string

// The decisions.
const (
	Delivered    Decision = "delivered"     // written to the output
	Retried      Decision = "retried"       // failed transiently, waits in a tier
	Parked       Decision = "parked"        // returned to a tier without an attempt (due beyond the tier, or its predecessor waits)
	DeadLettered Decision = "dead_lettered" // written to the DLQ
	Duplicate    Decision = "duplicate"     // closed: the same content took effect before
	Superseded   Decision = "superseded"    // closed: a newer version of the feature was applied
	Filtered     Decision = "filtered"      // closed: the configuration leaves it out
	Skipped      Decision = "skipped"       // closed: a person or a rule skipped it
	Paused       Decision = "paused"        // the pipeline stopped before it
	Replayed     Decision = "replayed"      // a dead letter was reinjected into the source topic
	StateChanged Decision = "state_changed" // a dead letter has a new state
	Edited       Decision = "edited"        // a person changed the bytes of a dead letter; the original stays
	Escalated    Decision = "escalated"     // an entry of the governance ledger: a rule about the use of data, or too many retries of governed ones
	Lost         Decision = "lost"          // deleted before it was consumed: a gap between the commit and the log start
	Operation    Decision = "operation"     // an operator began to act on dead letters: who, why, which filter, which plan
	Watched      Decision = "watched"       // how much of a replay a consumer group has consumed, and how many records failed again
)

// Decisions returns every decision, in the order of the constants.
func Decisions() []Decision {
	return []Decision{
		Delivered, Retried, Parked, DeadLettered, Duplicate, Superseded,
		Filtered, Skipped, Paused, Replayed, StateChanged, Edited, Escalated, Lost, Operation, Watched,
	}
}

// Valid reports whether d is one of [Decisions].
func (d Decision) Valid() bool {
	return slices.Contains(Decisions(), d)
}

// check returns an error that names an unknown decision, which may come from another version of the program.
func (d Decision) check() error {
	if d.Valid() {
		return nil
	}
	return fmt.Errorf("audit event: unknown decision %q; use one of %v", string(d), Decisions())
}
